//! Which run a caller means.

use crate::server::Shared;
use ostler_model::wire::{ErrorCode, WireError};
use ostler_model::{RunId, RunRecord, RunState};
use ostler_registry::RegistryError;

pub(crate) fn error(code: ErrorCode, message: impl Into<String>) -> WireError {
    WireError { code, message: message.into() }
}

pub(crate) fn registry_error(error: RegistryError) -> WireError {
    WireError { code: ErrorCode::RegistryFailed, message: error.told() }
}

/// By its id, or by enough of its beginning or end; or by its unit's name: then the newest.
pub(crate) fn find(shared: &Shared, text: &str) -> Result<RunRecord, WireError> {
    let found = match text.parse::<RunId>() {
        Ok(id) => {
            shared.read(|reader| reader.run(id)).map_err(registry_error)?.into_iter().collect()
        }
        Err(_) => shared.read(|reader| reader.matching(text)).map_err(registry_error)?,
    };
    let mut found: Vec<RunRecord> = found;
    let of_unit = shared.read(|reader| reader.runs_of(text, 1)).map_err(registry_error)?;
    if !of_unit.is_empty() {
        found = of_unit;
    }
    match (found.pop(), found.is_empty()) {
        (Some(record), true) => Ok(record),
        (Some(_), false) => Err(error(
            ErrorCode::AmbiguousRun,
            format!("several runs have ids that begin or end with {text:?}; give more of the id"),
        )),
        (None, _) => Err(error(
            ErrorCode::NoSuchRun,
            format!("there is no run {text:?}; `ostler runs` lists those there are"),
        )),
    }
}

/// The record as it is now: the engine's own word for a live run of ours.
pub(crate) async fn current(shared: &Shared, text: &str) -> Result<RunRecord, WireError> {
    let record = find(shared, text)?;
    if record.state == RunState::Exited {
        return Ok(record);
    }
    match shared.engine.record(record.run_id).await {
        Some(live) => Ok(live),
        None => find(shared, &record.run_id.to_string()),
    }
}
