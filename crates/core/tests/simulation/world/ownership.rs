//! Who owns a run, and what the owner can observe.

use super::{LEASE_MS, Simulation, instance};
use crate::kernel::{BOOT, Tree};
use ostler_core::{Claim, ExitStatus, Gone, Observation, Ownership, Streams, may_steal};
use ostler_model::{RunId, RunRecord};

impl Simulation {
    pub(super) fn renew(&mut self, index: usize) {
        self.claims.insert(
            instance(index),
            Claim {
                boot_id: BOOT.to_owned(),
                renewed_at_ms: self.now.wall_ms,
                expires_at_ms: self.now.wall_ms + LEASE_MS,
                expires_mono_ms: self.now.mono_ms + LEASE_MS,
            },
        );
    }

    pub(super) fn ownership(&self, record: &RunRecord, index: usize) -> Ownership {
        if record.owner_instance_id == instance(index) {
            return Ownership::Ours;
        }
        match self.claims.get(&record.owner_instance_id) {
            Some(claim) if !may_steal(claim, BOOT, self.now) => Ownership::Another,
            Some(_) | None => Ownership::Expired,
        }
    }

    pub(super) fn is_kept(&self, run: RunId, index: usize) -> bool {
        self.guardian_info
            && self.born.get(&run) == Some(&instance(index))
            && !self.stolen.contains(&run)
    }

    pub(super) fn observe(
        &self,
        record: &RunRecord,
        ownership: Ownership,
        index: usize,
    ) -> Observation {
        let tree = self.trees.get(&record.run_id).filter(|_| ownership != Ownership::Another);
        Observation {
            identity: tree.filter(|tree| tree.status.is_none()).map(Tree::identity),
            gone: Gone::Process,
            tree: tree.map(Tree::survey).unwrap_or_default(),
            ownership,
            status: tree
                .filter(|_| self.is_kept(record.run_id, index))
                .and_then(|tree| tree.status)
                .unwrap_or(ExitStatus::Unknown),
            streams: if self.is_kept(record.run_id, index) { Streams::Kept } else { Streams::Lost },
        }
    }
}
