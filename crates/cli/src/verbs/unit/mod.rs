//! Units: what is declared to run.

mod asked;
mod check;
mod crashes;
mod declared;
mod file;
mod import;
mod list;
mod look;
mod sheet;
mod show;
mod up;

pub use asked::{asked, declare_one};
pub use check::check;
pub use crashes::crashes;
pub use import::import;
pub use list::list;
pub use look::{look, names, no_such};
pub use show::show;
pub use up::{down, reload, up};
