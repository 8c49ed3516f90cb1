//! What may be executed and what may be signalled.

use super::{Simulation, Supervisor};
use crate::kernel::Tree;
use crate::random::Random;
use ostler_core::{Event, Signal};
use ostler_model::{Extinct, RunId, RunState, SpawnErrorKind};

impl Simulation {
    pub(super) fn spawn(
        &mut self,
        supervisor: &mut Supervisor,
        run: RunId,
        random: &mut Random,
    ) -> Result<(), String> {
        let Some(record) = self.records.get(&run) else {
            return Err(format!("run {run} is executed before its intent is recorded"));
        };
        if self.trees.contains_key(&run) {
            return Err(format!("run {run} is executed twice"));
        }
        if let Some(key) = &record.scope_key {
            let copy = self.records.values().find(|other| {
                other.run_id != run
                    && other.scope_key.as_ref() == Some(key)
                    && other.owner_instance_id == supervisor.instance
                    // A scope belongs to one instance; a run taken over from another brings its key along.
                    && self.born.get(&other.run_id) == Some(&supervisor.instance)
                    && !self.stolen.contains(&other.run_id)
                    && other.state != RunState::Exited
                    && self.trees.get(&other.run_id).is_some_and(|tree| !tree.is_extinct())
            });
            if let Some(other) = copy {
                return Err(format!(
                    "{run} is started while {} of its scope is alive",
                    other.run_id
                ));
            }
        }
        if let Some(unit) = &record.unit {
            let copy = self.records.values().find(|other| {
                other.run_id != run
                    && other.unit.as_ref() == Some(unit)
                    && other.owner_instance_id == supervisor.instance
                    && self.born.get(&other.run_id) == Some(&supervisor.instance)
                    && !self.stolen.contains(&other.run_id)
                    && self.trees.get(&other.run_id).is_some_and(|tree| !tree.is_extinct())
                    && other.extinct != Extinct::No
            });
            if let Some(other) = copy {
                return Err(format!(
                    "unit {unit}: {run} is started while {} is alive",
                    other.run_id
                ));
            }
        }
        if !self.is_calm && random.chance(10) {
            let error = "no".to_owned();
            supervisor.events.push_back(Event::SpawnFailed {
                run,
                kind: if random.chance(30) {
                    SpawnErrorKind::OutOfDescriptors
                } else {
                    SpawnErrorKind::Other
                },
                error,
            });
            return Ok(());
        }
        self.next += 1;
        let tree = Tree::new(self.next as i32, self.now.mono_ms, random.chance(30));
        supervisor.events.push_back(Event::Spawned { run, identity: tree.identity() });
        supervisor.held.insert(run);
        self.trees.insert(run, tree);
        self.born.insert(run, supervisor.instance);
        Ok(())
    }

    /// The central invariant: which process may be signalled, and when.
    pub(super) fn signal(
        &mut self,
        supervisor: &mut Supervisor,
        run: RunId,
        signal: Signal,
    ) -> Result<(), String> {
        let Some(record) = self.records.get(&run) else {
            return Err(format!("{signal:?} to {run}, which has no record"));
        };
        if record.state == RunState::Exited {
            return Err(format!("{signal:?} to {run} after it exited"));
        }
        if record.owner_instance_id != supervisor.instance {
            return Err(format!("{signal:?} to {run}, which another instance owns"));
        }
        let Some(tree) = self.trees.get_mut(&run) else {
            return Err(format!("{signal:?} to {run}, which was never executed"));
        };
        // Without a recorded identity no signal is allowed, unless only the rest of a tree is left.
        if record.pid.is_some_and(|pid| pid != tree.pid)
            || (record.pid.is_none() && tree.status.is_none())
        {
            return Err(format!("{signal:?} to {run} with an unverified identity"));
        }
        let processes = tree.survey().inside + tree.survey().outside;
        match signal {
            Signal::Term => tree.term(),
            Signal::Kill => tree.kill(9),
        }
        if signal == Signal::Kill && processes > 0 {
            supervisor.events.push_back(Event::Killed { run, mode: "pgid", processes });
        }
        Ok(())
    }
}
