//! A pool: never more members than its limit, and no member waits while a slot is free.

use super::{Simulation, instance};
use crate::random::Random;
use crate::units::POOL;
use ostler_core::{Event, MachineMemory, NewRun};
use ostler_model::{Actor, Detach, InstanceId, Limits, RunId, RunRecord, RunState};

impl Simulation {
    pub(super) fn memory(&self, random: &mut Random) -> MachineMemory {
        if self.is_calm || random.chance(60) {
            return MachineMemory { free_bytes: Some(1 << 40), pressure: Some(0) };
        }
        let free_bytes = random.chance(80).then(|| random.below(8 << 30));
        MachineMemory {
            free_bytes,
            pressure: random.chance(80).then(|| random.below(5_000) as u32),
        }
    }

    /// What a guardian keeps of a run that waits for a slot.
    pub(super) fn kept_in_line(&self, record: &RunRecord, index: usize) -> Option<Event> {
        let is_kept = self.guardian_info && record.owner_instance_id == instance(index);
        if !is_kept || record.state != RunState::Queued || self.stolen.contains(&record.run_id) {
            return None;
        }
        let (by, record) = (Actor::Supervisor, record.clone());
        let (limits, detach) = (Limits::default(), Detach::Forbid);
        Some(Event::Requeued(Box::new(NewRun { by, record, limits, detach })))
    }

    fn is_member(&self, owner: InstanceId, record: &RunRecord) -> bool {
        let of_unit = record.unit.as_ref().is_some_and(|name| {
            let unit = self.units.get(&(owner, name.clone()));
            unit.is_some_and(|unit| unit.spec.pool.is_some())
        });
        of_unit || record.pool.as_deref() == Some(POOL)
    }

    /// Live runs of the pool that this instance started.
    fn members(&self, owner: InstanceId) -> impl Iterator<Item = &RunRecord> {
        self.records.values().filter(move |record| {
            record.owner_instance_id == owner
                && self.born.get(&record.run_id) == Some(&owner)
                && !self.stolen.contains(&record.run_id)
                && record.state != RunState::Exited
                && self.trees.get(&record.run_id).is_some_and(|tree| !tree.is_extinct())
                && self.is_member(owner, record)
        })
    }

    /// A pool never has more members than its highest limit; a lower limit ends none.
    pub(super) fn may_join(&self, owner: InstanceId, run: RunId) -> Result<(), String> {
        let Some(record) = self.records.get(&run) else { return Ok(()) };
        if !self.is_member(owner, record) {
            return Ok(());
        }
        let live = self.members(owner).filter(|other| other.run_id != run).count();
        let most = self.most.get(&owner).copied().unwrap_or(u32::MAX);
        if live as u64 >= u64::from(most) {
            return Err(format!(
                "{run} is started while {live} members are live; the pool allows {most}"
            ));
        }
        Ok(())
    }

    pub(super) fn is_pool_full(&self) -> bool {
        let live = self
            .records
            .values()
            .filter(|record| {
                record.owner_instance_id == instance(0)
                    && record.state != RunState::Exited
                    && record.state != RunState::Queued
                    && self.is_member(instance(0), record)
            })
            .count() as u64;
        let pool = self.pools.get(&instance(0));
        pool.and_then(|pool| pool.max).is_some_and(|max| live >= u64::from(max))
    }
}
