//! A container that is there because a file lists it. Whoever takes it out of the list does not ask for its end.

use ostler_model::ContainerOrder;
use std::io::ErrorKind;

/// Only if the list can be read and says so.
pub(crate) fn is_unlisted(order: &ContainerOrder) -> bool {
    let Some(listed) = &order.spec.listed else { return false };
    match std::fs::read_to_string(&listed.file) {
        Ok(text) => listed.is_in(&text) == Some(false),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}
