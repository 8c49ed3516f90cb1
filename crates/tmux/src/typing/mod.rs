//! What a person would see in one pane, and what they would type there.

mod keys;
mod look;

pub use keys::{Key, paste, press};
pub(crate) use look::screen_of;
pub use look::{PaneLook, look};
