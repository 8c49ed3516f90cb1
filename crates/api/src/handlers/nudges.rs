//! Pending nudges.

use super::dispatch::Handle;
use super::mail::{invalid, not_kept};
use crate::find::{error, registry_error};
use crate::server::Shared;
use ostler_model::{Actor, Nudge};
use ostler_ops::nudges::{Claim, List, Queue, Settle};
use ostler_ops::wire::{ErrorCode, WireError};

impl Handle for Queue {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Nudge, WireError> {
        self.0.check().map_err(invalid)?;
        shared.engine.queue_nudge(self.0).await.map_err(not_kept)
    }
}

impl Handle for Claim {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Vec<Nudge>, WireError> {
        shared.engine.claim_nudges(self.to, self.most).await.map_err(not_kept)
    }
}

impl Handle for Settle {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Nudge, WireError> {
        let Self { id, receipt, why } = self;
        let settled = shared.engine.settle_nudge(id.clone(), receipt, why).await;
        let none = || error(ErrorCode::NotFound, format!("there is no nudge {id:?}"));
        settled.map_err(not_kept)?.ok_or_else(none)
    }
}

impl Handle for List {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Vec<Nudge>, WireError> {
        let (instance, to) = (shared.engine.instance(), self.to.as_deref());
        shared
            .read(|reader| reader.nudges(instance, to, ostler_os::wall_ms()))
            .map_err(registry_error)
    }
}
