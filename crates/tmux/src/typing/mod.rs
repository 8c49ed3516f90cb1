//! Reads a pane's screen and types into a pane.

mod keys;
mod look;
mod plain;

pub use keys::{Key, paste, press};
pub(crate) use look::screen_of;
pub use look::{PaneLook, look};
pub use plain::{press_named, type_plain};
