//! What a person would see in one pane, and what they would type there.

mod keys;
mod look;
mod plain;

pub use keys::{Key, paste, press};
pub(crate) use look::screen_of;
pub use look::{PaneLook, look};
pub use plain::{press_named, type_plain};
