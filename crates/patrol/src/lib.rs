//! The patrol looks at the agents of a town every tick, lets the core decide, and does what was decided through the
//! supervisor's door.

mod door;
mod error;
pub mod nudge;
mod screen;

pub use door::{Asking, Door};
pub use error::PatrolError;
