//! The verbs for units.

mod agents;
mod check;
mod control;
mod crashes;
mod declared;
mod details;
pub mod file;
mod follow;
mod follow_inputs;
mod import;
mod list;
mod look;
mod show;
mod up;
mod wait;

pub use agents::agents;
pub use check::check;
pub use control::{asked, declare_one, in_no_file};
pub use crashes::crashes;
pub use import::import;
pub use list::list;
#[cfg(feature = "top")]
pub use look::table;
pub use look::{expanded, look, names, no_such};
#[cfg(feature = "top")]
pub use show::description;
pub use show::show;
pub use up::{declare, down, reload, up};
pub use wait::await_units;
