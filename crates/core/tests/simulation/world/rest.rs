//! Invariants of the final state.

use super::{Crash, LEASE_MS, Simulation, instance};
use crate::random::Random;
use ostler_core::ExitStatus;
use ostler_model::{Desired, Extinct, Part, RunState, Termination};

impl Simulation {
    /// Never two runs of a unit, no run of an unwanted unit, and one run of each wanted unit that may run.
    fn units_are_as_wanted(&self) -> Result<(), String> {
        for ((owner, name), unit) in &self.units {
            if *owner != instance(0) {
                continue;
            }
            let alive = self.records.values().filter(|record| {
                record.unit.as_ref() == Some(name)
                    && record.owner_instance_id == instance(0)
                    && self.born.get(&record.run_id) == Some(&instance(0))
                    && !self.stolen.contains(&record.run_id)
                    && self.trees.get(&record.run_id).is_some_and(|tree| tree.status.is_none())
            });
            let alive = alive.count();
            let is_needed = self.records.values().any(|record| {
                record.unit.as_deref() == Some("d") && record.state != RunState::Exited
            });
            let may_run = unit.tally.opened.is_none() && unit.over.is_none();
            match (unit.desired, alive) {
                // Suspended: wanted, without a run.
                (Desired::Running, 0) if unit.suspended.is_some() => {}
                (Desired::Running, 1) if unit.suspended.is_some() => {
                    return Err(format!("unit {name} is suspended but runs"));
                }
                (Desired::Stopped, 0) => {}
                (Desired::Running, 1) => {}
                (Desired::Running, 0) if !may_run || !unit.spec.depends_on.is_empty() => {}
                // No unit needs it.
                (Desired::Running, 0) if unit.spec.part == Some(Part::Daemon) && !is_needed => {}
                (Desired::Running, 0) if unit.spec.pool.is_some() && self.is_pool_full() => {}
                (wanted, count) => {
                    return Err(format!("unit {name}: {wanted} wanted, {count} alive"));
                }
            }
        }
        for record in self.records.values() {
            let Some(name) = &record.unit else { continue };
            let is_declared = self.units.contains_key(&(instance(0), name.clone()));
            let is_ours = record.owner_instance_id == instance(0)
                && self.born.get(&record.run_id) == Some(&instance(0));
            let lives = self.trees.get(&record.run_id).is_some_and(|tree| tree.status.is_none());
            if is_ours && lives && !is_declared {
                return Err(format!(
                    "{} is alive, but its unit {name} no longer exists",
                    record.run_id
                ));
            }
        }
        Ok(())
    }

    /// All supervisors crash; one comes back and gets time. After that the records must be true.
    pub fn comes_to_rest(&mut self, random: &mut Random) -> Result<(), String> {
        self.supervisors = [None, None];
        self.is_calm = true;
        self.pass(LEASE_MS * 2);
        // The wall clock may have been set back: then the monotonic clock decides about the lease.
        self.start(0, &mut Random::new(0))?;
        if self.supervisors[0].is_none() {
            self.start(0, &mut Random::new(7))?;
        }
        for _ in 0..100 {
            self.pass(1_000);
            self.turn(0, None, Crash::Never, random)?;
        }
        self.units_are_as_wanted()?;
        for (run, count) in &self.exits {
            if *count != 1 {
                return Err(format!("run {run} exited {count} times"));
            }
        }
        for child in self.records.values().filter(|child| child.state != RunState::Exited) {
            let parent = child.parent.filter(|_| !child.keep);
            let parent = parent.and_then(|parent| self.records.get(&parent));
            if parent.is_some_and(|parent| parent.state == RunState::Exited) {
                return Err(format!("run {} outlives its parent", child.run_id));
            }
        }
        for record in self.records.values() {
            let tree = self.trees.get(&record.run_id);
            match record.state {
                RunState::Exited => {
                    let is_escape = record.termination == Some(Termination::OwnershipEscape);
                    if is_escape && (!record.strict || record.escaped.is_empty()) {
                        return Err(format!("run {} is no escape", record.run_id));
                    }
                    if tree.is_some_and(|tree| !tree.is_extinct()) && record.extinct == Extinct::Yes
                    {
                        return Err(format!(
                            "run {} is recorded as gone but is not",
                            record.run_id
                        ));
                    }
                    let is_ours = record.owner_instance_id == instance(0);
                    if is_ours
                        && self.is_kept(record.run_id, 0)
                        && let Some(tree) = tree
                    {
                        let known = match (record.exit_code, record.exit_signal) {
                            (Some(code), _) => ExitStatus::Code(code),
                            (None, Some(signal)) => ExitStatus::Signal(signal),
                            (None, None) => ExitStatus::Unknown,
                        };
                        if tree.status != Some(known) {
                            return Err(format!(
                                "run {} ended with {:?}, its record says {known:?}",
                                record.run_id, tree.status
                            ));
                        }
                    }
                }
                RunState::Running => {
                    if tree.is_none_or(|tree| tree.status.is_some()) {
                        return Err(format!(
                            "run {} is recorded as running but is not",
                            record.run_id
                        ));
                    }
                }
                RunState::Queued if self.is_pool_full() => {}
                RunState::Queued => {
                    return Err(format!("run {} waits while a slot is free", record.run_id));
                }
                RunState::Starting | RunState::Exiting => {
                    return Err(format!(
                        "run {} is still {} after reconcile",
                        record.run_id, record.state
                    ));
                }
            }
        }
        for (run, tree) in &self.trees {
            let owned = self.records.get(run).is_some_and(|record| {
                record.owner_instance_id == instance(0)
                    && (record.state != RunState::Exited || record.extinct != Extinct::Yes)
            });
            if !tree.is_extinct() && !owned {
                return Err(format!("processes of {run} are left without an owner"));
            }
        }
        Ok(())
    }
}
