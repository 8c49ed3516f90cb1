//! Carries out the actions.

use super::{Simulation, Supervisor};
use crate::kernel::Tree;
use crate::random::Random;
use ostler_core::unit::{Idle, UnitEvent};
use ostler_core::{Effect, Event, Ownership, Survey};
use ostler_model::RunState;

impl Simulation {
    pub(super) fn carry_out(
        &mut self,
        index: usize,
        supervisor: &mut Supervisor,
        effect: Effect,
        random: &mut Random,
    ) -> Result<(), String> {
        match effect {
            Effect::CheckHealth { .. } | Effect::CallHook { .. } | Effect::Crashed { .. } => {}
            // As in the engine: a launch that was withdrawn in the same turn does not start.
            Effect::Launch(unit) => {
                if supervisor.world.unit(&unit).is_some() {
                    let event = self.new_run(index, random, Some(&unit));
                    supervisor.events.push_back(event);
                }
            }
            Effect::LookIdle { unit, run } => {
                let is_idle = !self.is_calm && random.chance(60);
                let mono_ms = self.now.mono_ms.saturating_sub(random.below(2_000));
                let idle = if is_idle { Idle::Since { mono_ms } } else { Idle::No };
                let event = UnitEvent::Idle { run, idle };
                supervisor.events.push_back(Event::Unit { name: unit, event });
            }
            Effect::CheckReady { unit, run } => {
                let event = if self.is_calm || random.chance(80) {
                    UnitEvent::Ready { run }
                } else {
                    UnitEvent::NotReady { run, why: "sim".to_owned() }
                };
                supervisor.events.push_back(Event::Unit { name: unit, event });
            }
            Effect::Spawn(run) => {
                self.may_join(supervisor.instance, run)?;
                self.spawn(supervisor, run, random)?;
            }
            Effect::LookAtMemory => {
                let memory = self.memory(random);
                supervisor.events.push_back(Event::MemoryLookedAt(memory));
            }
            Effect::Queued(run) => {
                if !self.records.contains_key(&run) {
                    return Err(format!(
                        "the caller is answered that {run} waits before its record says so"
                    ));
                }
            }
            Effect::Adopt(record) => {
                supervisor.held.insert(record.run_id);
                if self.is_kept(record.run_id, index) {
                    // The end of the output and the exit status are reported to the new supervisor again.
                    if let Some(tree) = self.trees.get_mut(&record.run_id) {
                        tree.output_reported = false;
                        tree.status_reported = false;
                    }
                } else {
                    supervisor.adopted.insert(record.run_id);
                }
            }
            // As in the engine: a process that ended in the same turn is not signalled.
            Effect::Signal { run, signal } => {
                if supervisor.world.record(run).is_some() {
                    self.signal(supervisor, run, signal)?;
                }
            }
            Effect::Watch(run) => {
                if self.trees.get(&run).is_none_or(Tree::is_extinct) {
                    supervisor.events.push_back(Event::Surveyed { run, tree: Survey::default() });
                } else {
                    supervisor.watched.insert(run);
                }
            }
            Effect::Finish(record) => {
                supervisor.held.remove(&record.run_id);
                if self
                    .records
                    .get(&record.run_id)
                    .is_none_or(|known| known.state != RunState::Exited)
                {
                    return Err(format!(
                        "run {} is finished before its record says so",
                        record.run_id
                    ));
                }
            }
            Effect::Abandon(run) => {
                supervisor.held.remove(&run);
                if self.records.get(&run).is_some_and(|known| {
                    known.owner_instance_id == supervisor.instance
                        && known.state != RunState::Exited
                }) {
                    return Err(format!("run {run} is abandoned by its owner"));
                }
                // As in the engine: a process that the new owner does not know of stays ours.
                let known_pid = self.records.get(&run).and_then(|known| known.pid);
                if let Some(tree) =
                    self.trees.get_mut(&run).filter(|tree| known_pid != Some(tree.pid))
                {
                    tree.kill(9);
                }
            }
            Effect::Started(run) => {
                if self.records.get(&run).is_none_or(|known| known.pid.is_none()) {
                    return Err(format!(
                        "the caller is answered about run {run} before its record says so"
                    ));
                }
            }
            Effect::Refuse { .. } | Effect::LetGo(_) | Effect::Stop => {}
            Effect::RenewLease => {
                self.renew(index);
                let lost = supervisor
                    .world
                    .records()
                    .map(|record| record.run_id)
                    .filter(|run| {
                        self.records.get(run).is_none_or(|known| {
                            known.owner_instance_id != supervisor.instance
                                || known.state == RunState::Exited
                        })
                    })
                    .collect();
                supervisor.events.push_back(Event::LeaseRenewed { lost });
                for record in
                    self.records.values().filter(|record| record.state != RunState::Exited)
                {
                    let ownership = self.ownership(record, index);
                    if ownership == Ownership::Expired {
                        let seen = self.observe(record, ownership, index);
                        supervisor
                            .events
                            .push_back(Event::Observed { record: Box::new(record.clone()), seen });
                    }
                }
            }
            Effect::Steal { record, mut seen } => {
                let ownership = self.ownership(&record, index);
                let Some(known) = self.records.get_mut(&record.run_id) else { return Ok(()) };
                if ownership == Ownership::Expired
                    && known.owner_instance_id == record.owner_instance_id
                    && known.state != RunState::Exited
                {
                    known.owner_instance_id = supervisor.instance;
                    known.unit = None;
                    known.client = None;
                    self.stolen.insert(record.run_id);
                    seen.ownership = Ownership::Ours;
                    supervisor
                        .events
                        .push_back(Event::StealWon { record: Box::new(known.clone()), seen });
                }
            }
        }
        Ok(())
    }
}
