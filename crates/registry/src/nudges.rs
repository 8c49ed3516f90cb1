//! Texts that wait to be typed into a session.
//!
//! ```text
//! queued ──claim──▶ claimed ──settle──▶ delivered | refused | expired
//!    │ ▲               │
//!    │ └─ released, or the claim expired
//!    └─ its time is over ──▶ expired
//! ```

use crate::RegistryError;
use ostler_model::{InstanceId, Nudge, Receipt};

pub trait WriteNudges {
    /// Counts the queued nudges of a unit.
    fn queued_nudges(
        &mut self,
        instance: InstanceId,
        to: &str,
        now_ms: u64,
    ) -> Result<u64, RegistryError>;

    /// Queues a nudge. Returns it as queued, or as refused because too many are waiting; a refused one is not kept.
    fn queue_nudge(&mut self, instance: InstanceId, nudge: Nudge) -> Result<Nudge, RegistryError>;

    /// Claims unclaimed nudges: urgent ones first, then the oldest.
    fn claim_nudges(
        &mut self,
        instance: InstanceId,
        to: &str,
        most: u32,
        now_ms: u64,
    ) -> Result<Vec<Nudge>, RegistryError>;

    /// Settles a nudge and returns it. A nudge that was settled before stays unchanged; `None` if it does not exist.
    fn settle_nudge(
        &mut self,
        instance: InstanceId,
        id: &str,
        receipt: Receipt,
        why: &str,
        now_ms: u64,
    ) -> Result<Option<Nudge>, RegistryError>;

    /// Expires nudges whose time is over, and deletes those that were settled long ago.
    fn forget_nudges(
        &mut self,
        instance: InstanceId,
        now_ms: u64,
        most: u64,
    ) -> Result<(), RegistryError>;
}

pub trait ReadNudges {
    /// The newest nudges, oldest first. Those whose time is over are shown as expired.
    fn nudges(
        &self,
        instance: InstanceId,
        to: Option<&str>,
        now_ms: u64,
    ) -> Result<Vec<Nudge>, RegistryError>;
}
