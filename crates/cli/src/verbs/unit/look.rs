//! Requests for the present state of units, and the error for an unknown name.

use crate::exit::Failure;
use ostler_client::{Client, ClientError};
use ostler_model::{Depth, NamePattern, UnitLook};
use ostler_ops::units::Look;
use ostler_ops::wire::{ErrorCode, WireError};
use serde_json::Value;

/// The named units, or all if none is named.
pub fn look(
    client: &mut Client,
    names: Vec<String>,
    depth: Depth,
) -> Result<Vec<UnitLook>, Failure> {
    Ok(client.call(&Look { names, depth, brief: false })?)
}

/// All units, without the fields that a table does not show.
pub fn table(client: &mut Client, depth: Depth) -> Result<Vec<UnitLook>, Failure> {
    Ok(client.call(&Look { names: Vec::new(), depth, brief: true })?)
}

/// The JSON of a unit, with its usage.
pub fn document(look: &UnitLook) -> Result<Value, serde_json::Error> {
    let mut document = serde_json::to_value(&look.view)?;
    document["usage"] = serde_json::to_value(&look.usage)?;
    if !look.history.is_empty() {
        document["history"] = serde_json::to_value(&look.history)?;
    }
    Ok(document)
}

/// The names, with each pattern replaced by the units that match it.
pub fn expanded(client: &mut Client, names: &[String]) -> Result<Vec<String>, Failure> {
    let mut meant = Vec::new();
    for name in names {
        if NamePattern::of(name).is_none() {
            meant.push(name.clone());
            continue;
        }
        let call = Look { names: vec![name.clone()], depth: Depth::None, brief: true };
        meant.extend(client.call(&call)?.into_iter().map(|look| look.view.name));
    }
    Ok(meant)
}

pub fn names(client: &mut Client) -> Result<Vec<String>, Failure> {
    let looks = table(client, Depth::None)?;
    Ok(looks.into_iter().map(|look| look.view.name).collect())
}

/// The error for an unknown name, with similar names as a hint.
pub fn no_such(what: &str, name: &str, known: &[String]) -> Failure {
    let mut near: Vec<(usize, &String)> = known
        .iter()
        .map(|other| (strsim::damerau_levenshtein(name, other), other))
        .filter(|(distance, other)| *distance <= (name.len() / 3).max(1) || other.starts_with(name))
        .collect();
    near.sort();
    let near: Vec<&str> = near.iter().take(3).map(|(_, other)| other.as_str()).collect();
    let hint = match (near.is_empty(), known.is_empty()) {
        (false, _) => format!("; did you mean {}?", near.join(", ")),
        (true, false) => "; list units with `ostler ls`, runs with `ostler runs`".to_owned(),
        (true, true) => "; there are no units".to_owned(),
    };
    let message = format!("there is no {what} {name:?}{hint}");
    ClientError::Refused(WireError::new(ErrorCode::NotFound, message)).into()
}
