//! Finds the run that a caller means.

use crate::server::Shared;
use ostler_model::{RunId, RunRecord, RunState};
use ostler_ops::BadParam;
use ostler_ops::wire::{ErrorCode, WireError};
use ostler_registry::{ID_PART_LEAST, RegistryError};

pub(crate) fn error(code: ErrorCode, message: impl Into<String>) -> WireError {
    WireError::new(code, message)
}

pub(crate) fn registry_error(error: RegistryError) -> WireError {
    WireError::new(ErrorCode::RegistryFailed, error.description())
}

/// The parameters are wrong.
pub(crate) fn bad_params(operation: &str, bad: &BadParam) -> WireError {
    let message = format!("invalid request: {operation}: {bad}");
    WireError { field: bad.field.clone(), ..error(ErrorCode::InvalidRequest, message) }
}

/// The dispatcher has ended, so its state is unknown. This must not look like an empty answer.
pub(crate) fn stopping() -> WireError {
    error(ErrorCode::ShuttingDown, "the supervisor is stopping")
}

/// Finds a run by its id, by its unit's name (the newest run), or by the beginning or end of its id. A unit's name has
/// priority over a part of an id, even if the unit has not run yet.
pub(crate) fn find(shared: &Shared, text: &str) -> Result<RunRecord, WireError> {
    let by_id = match text.parse::<RunId>() {
        Ok(id) => shared.read(|reader| reader.run(id)).map_err(registry_error)?,
        Err(_) => None,
    };
    if let Some(record) = by_id {
        return Ok(record);
    }
    let mut found = shared.read(|reader| reader.runs_of(text, 1)).map_err(registry_error)?;
    if found.is_empty() {
        found = shared.read(|reader| reader.matching(text)).map_err(registry_error)?;
        let instance = shared.engine.instance();
        if !found.is_empty()
            && shared.read(|reader| reader.has_unit(instance, text)).map_err(registry_error)?
        {
            found.clear();
        }
    }
    match (found.pop(), found.is_empty()) {
        (Some(record), true) => Ok(record),
        (Some(_), false) => Err(error(
            ErrorCode::Ambiguous,
            format!(
                "several runs have ids that begin or end with {text:?}; give more characters of the id"
            ),
        )),
        (None, _) => Err(error(
            ErrorCode::NotFound,
            format!("there is no run {text:?}; `ostler runs` lists all runs{}", short(text)),
        )),
    }
}

/// An explanation for a part of an id that is too short.
fn short(text: &str) -> String {
    let digits = text.chars().filter(char::is_ascii_hexdigit).count();
    let is_part = text.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    match is_part && digits < ID_PART_LEAST {
        true => format!("; part of an id needs at least {} characters", ID_PART_LEAST),
        false => String::new(),
    }
}

/// The current record; for a live run, from the engine.
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
