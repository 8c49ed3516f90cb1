//! Whether a unit has come to rest, for callers that wait for it.

use super::super::phase::Phase;
use super::Units;
use ostler_model::Desired;
use std::collections::BTreeSet;

impl Units {
    /// Whether nothing changes without outside input: the unit is ready, has failed, or waits for one that has
    /// failed.
    pub(crate) fn is_settled(&self, name: &str) -> bool {
        self.settles(name, &mut BTreeSet::new())
    }

    fn settles(&self, name: &str, seen: &mut BTreeSet<String>) -> bool {
        let Some(unit) = self.get(name) else { return true };
        match &unit.phase {
            Phase::Ready(_)
            | Phase::Stopped
            | Phase::Queued
            | Phase::Backoff(_)
            | Phase::Over
            | Phase::Broken
            | Phase::Scheduled
            | Phase::Suspended => true,
            Phase::Waiting => {
                seen.insert(name.to_owned())
                    && self.missing(unit).iter().all(|needed| self.settles(needed, seen))
            }
            Phase::Reconciling
            | Phase::Launching
            | Phase::Unready(_)
            | Phase::Leaving(_)
            | Phase::Stopping(_) => false,
        }
    }

    pub(crate) fn is_stopped(&self, name: &str) -> bool {
        self.get(name).is_none_or(|unit| match unit.phase {
            Phase::Stopped => true,
            // It was to be stopped, but some of its processes could not be ended.
            Phase::Over => unit.record.desired == Desired::Stopped,
            Phase::Reconciling
            | Phase::Waiting
            | Phase::Queued
            | Phase::Launching
            | Phase::Unready(_)
            | Phase::Ready(_)
            | Phase::Leaving(_)
            | Phase::Stopping(_)
            | Phase::Backoff(_)
            | Phase::Broken
            | Phase::Scheduled
            | Phase::Suspended => false,
        })
    }
}
