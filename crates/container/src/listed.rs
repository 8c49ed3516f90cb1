//! A container that is there because a file lists it. Whoever takes it out of the list does not ask for its end.

use ostler_model::ContainerOrder;
use serde_json::Value;

/// Only if the list can be read and says so.
pub(crate) fn is_unlisted(order: &ContainerOrder) -> bool {
    let Some(listed) = &order.spec.listed else { return false };
    match std::fs::read_to_string(&listed.file) {
        Ok(text) => serde_json::from_str::<Value>(&text)
            .is_ok_and(|list| list.get(&listed.name).is_none_or(|one| one["type"] != "agent")),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}
