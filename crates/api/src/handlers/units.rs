//! Units: declare, start, stop, wait, show.

use super::dispatch::Handle;
use crate::find::{error, stopping};
use crate::patterns::{expanded, has_pattern};
use crate::server::Shared;
use crate::usage;
use ostler_engine::{Declaration, PoolRefused, UnitAsk, WaitCondition};
use ostler_model::{Actor, Change, Part, UnitLook, UnitView};
use ostler_ops::Done;
use ostler_ops::units::{Await, AwaitUntil, Declare, List, Look, Restart, Show, Start, Stop, Wake};
use ostler_ops::wire::{ErrorCode, WireError};

impl Handle for Declare {
    async fn handle(self, by: Actor, shared: &Shared) -> Result<Vec<Change>, WireError> {
        let Declare { units, pools, file, keep, gone, start, dry_run } = self;
        let gone = known(gone, shared).await?;
        may_end(&gone)?;
        let gone = names_of(&gone);
        let declaration = Declaration { units, pools, file, keep, gone, start, dry_run };
        let declared = shared.engine.declare(declaration, by).await.ok_or_else(stopping)?;
        declared.map_err(pool_refused)
    }
}

impl Handle for Start {
    async fn handle(self, by: Actor, shared: &Shared) -> Result<Done, WireError> {
        let names = names_of(&known(self.names, shared).await?);
        shared.engine.ask_units(names, UnitAsk::Start, by).await.ok_or_else(stopping)?;
        Ok(Done {})
    }
}

impl Handle for Stop {
    async fn handle(self, by: Actor, shared: &Shared) -> Result<Done, WireError> {
        let units = known(self.names, shared).await?;
        may_end(&units)?;
        shared.engine.ask_units(names_of(&units), UnitAsk::Stop, by).await.ok_or_else(stopping)?;
        Ok(Done {})
    }
}

impl Handle for Restart {
    async fn handle(self, by: Actor, shared: &Shared) -> Result<Done, WireError> {
        let names = names_of(&known(self.names, shared).await?);
        shared.engine.ask_units(names, UnitAsk::Restart, by).await.ok_or_else(stopping)?;
        Ok(Done {})
    }
}

impl Handle for Wake {
    async fn handle(self, by: Actor, shared: &Shared) -> Result<Done, WireError> {
        known(vec![self.name.clone()], shared).await?;
        shared.engine.wake_unit(self.name, by, self.why);
        Ok(Done {})
    }
}

impl Handle for Await {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Vec<UnitView>, WireError> {
        let until = match self.until {
            AwaitUntil::Settled => WaitCondition::Settled,
            AwaitUntil::Stopped => WaitCondition::Stopped,
        };
        let names = if has_pattern(&self.names) {
            expanded(self.names, &shared.engine.unit_views().await.ok_or_else(stopping)?)?
        } else {
            self.names
        };
        shared.engine.await_units(names, until).await.ok_or_else(stopping)
    }
}

impl Handle for List {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Vec<UnitView>, WireError> {
        shared.engine.unit_views().await.ok_or_else(stopping)
    }
}

impl Handle for Look {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Vec<UnitLook>, WireError> {
        usage::look(self, shared).await
    }
}

impl Handle for Show {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<UnitLook, WireError> {
        let names = names_of(&known(vec![self.unit], shared).await?);
        let look = Look { names, depth: self.depth, brief: false };
        let mut looks = usage::look(look, shared).await?;
        looks.pop().ok_or_else(|| error(ErrorCode::NotFound, "the unit was removed just now"))
    }
}

pub(super) fn pool_refused(refused: PoolRefused) -> WireError {
    error(ErrorCode::InvalidRequest, refused.to_string())
}

/// The units with these names or patterns. If one is missing, the whole request fails.
async fn known(names: Vec<String>, shared: &Shared) -> Result<Vec<UnitView>, WireError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut known = shared.engine.unit_views().await.ok_or_else(stopping)?;
    let names = expanded(names, &known)?;
    for name in &names {
        if !known.iter().any(|view| view.name == *name) {
            let names: Vec<&str> = known.iter().map(|view| view.name.as_str()).collect();
            let description =
                format!("there is no unit {name:?}; known units: {}", names.join(", "));
            return Err(error(ErrorCode::NotFound, description));
        }
    }
    known.retain(|view| names.contains(&view.name));
    Ok(known)
}

fn names_of(units: &[UnitView]) -> Vec<String> {
    units.iter().map(|view| view.name.clone()).collect()
}

/// A part of the daemon serves units of all files, so it ends only with the daemon.
fn may_end(units: &[UnitView]) -> Result<(), WireError> {
    match units.iter().find(|view| view.part == Some(Part::Daemon)) {
        None => Ok(()),
        Some(view) => Err(error(
            ErrorCode::InvalidRequest,
            format!(
                "{} is a part of the daemon and ends with it: `ostler stop` without a name stops both, `ostler restart {}` restarts it",
                view.name, view.name
            ),
        )),
    }
}
