//! Writes to the registry, and the writes that must never happen.

use super::{Simulation, Supervisor};
use ostler_core::Write;
use ostler_model::{Extinct, RunState};

impl Simulation {
    /// The registry refuses to overwrite another instance's record, and a terminal record never changes.
    pub(super) fn commit(
        &mut self,
        supervisor: &Supervisor,
        durable: Vec<Write>,
    ) -> Result<(), String> {
        for action in durable {
            let record = match action {
                Write::Save(record) => record,
                Write::SaveUnit(unit) => {
                    self.units.insert((supervisor.instance, unit.spec.name.clone()), *unit);
                    continue;
                }
                Write::RemoveUnit(name) => {
                    self.units.remove(&(supervisor.instance, name));
                    continue;
                }
                Write::SavePool(pool) => {
                    let most = self.most.entry(supervisor.instance).or_default();
                    *most = (*most).max(pool.max.unwrap_or(u32::MAX));
                    self.pools.insert(supervisor.instance, *pool);
                    continue;
                }
                Write::Note(entry) => {
                    self.agent_noted(&entry)?;
                    continue;
                }
                Write::Count(..) | Write::RemovePool(_) => continue,
            };
            if let Some(known) = self.records.get(&record.run_id) {
                if known.owner_instance_id != supervisor.instance {
                    continue;
                }
                if known.state == RunState::Exited {
                    return Err(format!("run {} is written after it exited", record.run_id));
                }
                if known.termination.is_some() && known.termination != record.termination {
                    return Err(format!(
                        "run {} changes its reason from {:?} to {:?}",
                        record.run_id, known.termination, record.termination
                    ));
                }
            }
            if record.state == RunState::Exited {
                *self.exits.entry(record.run_id).or_default() += 1;
                if record.termination.is_none() || record.lease_expires_at_ms.is_some() {
                    return Err(format!(
                        "run {} exited without a reason, or with a lease",
                        record.run_id
                    ));
                }
                if record.extinct == Extinct::Yes
                    && self.trees.get(&record.run_id).is_some_and(|tree| !tree.is_extinct())
                {
                    return Err(format!("run {} is recorded as extinct but is not", record.run_id));
                }
            }
            self.records.insert(record.run_id, *record);
        }
        Ok(())
    }
}
