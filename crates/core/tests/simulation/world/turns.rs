//! The turns of a supervisor, from its start.

use super::{Crash, LEASE_MS, Simulation, Supervisor, instance};
use crate::kernel::{BOOT, Tree};
use crate::random::Random;
use ostler_core::{Effect, Event, ExitStatus, Survey, World};
use ostler_model::{AdoptPolicy, InstanceId, RunState, Settings, UnitRecord};
use std::collections::{BTreeSet, VecDeque};

impl Simulation {
    pub(super) fn start(&mut self, index: usize, random: &mut Random) -> Result<(), String> {
        self.notify(|| format!("supervisor {index} starts"));
        let settings = Settings {
            lease_ms: LEASE_MS,
            adopt: if random.chance(50) { AdoptPolicy::Adopt } else { AdoptPolicy::Terminate },
            ..Settings::default()
        };
        self.renew(index);
        let mut supervisor = Supervisor {
            instance: instance(index),
            world: World::new(&settings, self.now),
            events: VecDeque::new(),
            held: BTreeSet::new(),
            watched: BTreeSet::new(),
            adopted: BTreeSet::new(),
        };
        let own = |((owner, _), record): (&(InstanceId, String), &UnitRecord)| {
            (*owner == instance(index)).then(|| record.clone())
        };
        let records = self.units.iter().filter_map(own).collect();
        let pools = self.pools.get(&instance(index)).cloned().into_iter().collect();
        let boot_id = BOOT.to_owned();
        supervisor.events.push_back(Event::UnitsKnown { records, pools, boot_id });
        for record in self.records.values().filter(|record| record.state != RunState::Exited) {
            if let Some(kept) = self.kept_in_line(record, index) {
                supervisor.events.push_back(kept);
                continue;
            }
            let seen = self.observe(record, self.ownership(record, index), index);
            supervisor.events.push_back(Event::Observed { record: Box::new(record.clone()), seen });
        }
        supervisor.events.push_back(Event::Reconciled { begin: true });
        self.supervisors[index] = Some(supervisor);
        let crash =
            if random.chance(10) { Crash::AfterEffects(random.below(3)) } else { Crash::Never };
        self.turn(index, None, crash, random)
    }

    /// One turn of a supervisor's loop, as in the engine.
    pub(super) fn turn(
        &mut self,
        index: usize,
        asked: Option<Event>,
        crash: Crash,
        random: &mut Random,
    ) -> Result<(), String> {
        let Some(mut supervisor) = self.supervisors[index].take() else { return Ok(()) };
        self.gather(&mut supervisor);
        supervisor.events.extend(asked);
        let mut effects_done = 0;
        for _ in 0..10_000 {
            let mut durable = Vec::new();
            let mut effects = VecDeque::new();
            while let Some(event) = supervisor.events.pop_front() {
                self.notify(|| format!("[{index}] {event:?}"));
                let step = supervisor.world.step(event, self.now);
                durable.extend(step.writes);
                effects.extend(step.effects);
            }
            if durable.is_empty() && effects.is_empty() {
                self.supervisors[index] = Some(supervisor);
                return Ok(());
            }
            if crash == Crash::BeforeCommit {
                self.notify(|| format!("[{index}] killed before commit"));
                return Ok(());
            }
            self.commit(&supervisor, durable)?;
            if crash == Crash::AfterCommit {
                self.notify(|| format!("[{index}] killed after commit"));
                return Ok(());
            }
            while let Some(effect) = effects.pop_front() {
                self.notify(|| format!("[{index}] -> {effect:?}"));
                if matches!(effect, Effect::Stop) {
                    return Ok(());
                }
                self.carry_out(index, &mut supervisor, effect, random)?;
                effects_done += 1;
                if matches!(crash, Crash::AfterEffects(most) if effects_done >= most) {
                    self.notify(|| format!("[{index}] killed among its effects"));
                    return Ok(());
                }
            }
        }
        Err("a turn that never ends".to_owned())
    }

    fn gather(&mut self, supervisor: &mut Supervisor) {
        for run in supervisor.held.clone() {
            let Some(tree) = self.trees.get_mut(&run) else { continue };
            if let Some(status) = tree.status
                && !tree.status_reported
            {
                tree.status_reported = true;
                let status =
                    if supervisor.adopted.contains(&run) { ExitStatus::Unknown } else { status };
                supervisor.events.push_back(Event::RootExited { run, status, tree: tree.survey() });
            }
            if !tree.output_open && !tree.output_reported && !supervisor.adopted.contains(&run) {
                tree.output_reported = true;
                supervisor.events.push_back(Event::OutputEnded { run });
            }
            if tree.is_extinct() && supervisor.watched.remove(&run) {
                supervisor.events.push_back(Event::Surveyed { run, tree: Survey::default() });
            }
        }
        if supervisor.world.lease_due(self.now) {
            supervisor.events.push_back(Event::LeaseDue);
        }
        if supervisor.world.units_due(self.now) {
            supervisor.events.push_back(Event::UnitsDue);
        }
        for run in supervisor.world.due_runs(self.now) {
            let tree = self.trees.get(&run);
            supervisor.events.push_back(Event::Due {
                run,
                last_output_mono_ms: tree.and_then(|tree| tree.last_output),
                tree: tree.map(Tree::survey),
            });
        }
    }
}
