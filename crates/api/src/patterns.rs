//! Unit names in requests: a name, or a pattern such as `worker-*`.

use crate::find::error;
use ostler_model::{NamePattern, UnitView};
use ostler_ops::wire::{ErrorCode, WireError};
use std::collections::HashSet;

pub(crate) fn has_pattern(names: &[String]) -> bool {
    names.iter().any(|name| NamePattern::of(name).is_some())
}

/// Replaces each pattern by the names of the units that match it, in the order of the table. A name stays as it is,
/// whether or not there is such a unit. A pattern that matches nothing is an error. Parts of Ostler match no pattern.
pub(crate) fn expanded(names: Vec<String>, known: &[UnitView]) -> Result<Vec<String>, WireError> {
    if !has_pattern(&names) {
        return Ok(names);
    }
    let units = || known.iter().filter(|view| view.part.is_none()).map(|view| &view.name);
    let mut meant: Vec<String> = Vec::new();
    for name in names {
        let Some(pattern) = NamePattern::of(&name) else {
            meant.push(name);
            continue;
        };
        let pattern = pattern.map_err(|bad| error(ErrorCode::InvalidRequest, bad))?;
        let before = meant.len();
        meant.extend(units().filter(|unit| pattern.matches(unit)).cloned());
        if meant.len() == before {
            let known: Vec<&str> = units().map(String::as_str).collect();
            let message = format!("no unit matches {name:?}; known units: {}", known.join(", "));
            return Err(error(ErrorCode::NotFound, message));
        }
    }
    let mut seen = HashSet::new();
    meant.retain(|name| seen.insert(name.clone()));
    Ok(meant)
}
