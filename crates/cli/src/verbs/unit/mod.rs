//! Units: what is declared to run.

mod agents;
mod asked;
mod awaiting;
mod check;
mod crashes;
mod declared;
pub mod file;
mod import;
mod list;
mod look;
mod sheet;
mod show;
mod up;

pub use agents::agents;
pub use asked::{asked, declare_one, in_no_file};
pub use awaiting::await_units;
pub use check::check;
pub use crashes::crashes;
pub use import::import;
pub use list::list;
#[cfg(feature = "top")]
pub use look::table;
pub use look::{look, names, no_such};
pub use show::show;
#[cfg(feature = "top")]
pub use show::told;
pub use up::{declare, down, reload, up};
