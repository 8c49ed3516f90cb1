//! A container that runs because a file lists it. Removing it from the list does not end it.

use ostler_model::ContainerOrder;
use std::io::ErrorKind;
use std::path::Path;

/// Must equal the limit used when the container is declared.
const LIST_MOST: u64 = 256 << 10;

/// Whether the list can be read and lacks the container.
pub(crate) fn is_unlisted(order: &ContainerOrder) -> bool {
    let Some(listed) = &order.spec.listed else { return false };
    match ostler_sys::read_regular(Path::new(&listed.file), LIST_MOST) {
        Ok(text) => listed.is_in(&String::from_utf8_lossy(&text)) == Some(false),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}
