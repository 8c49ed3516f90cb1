//! What a person would see in one pane, and what they would type there.

mod keys;
mod look;

pub use keys::{Key, paste, press};
pub use look::{Cursor, PaneLook, look};
