//! Units: what is declared to run.

mod asked;
mod check;
mod file;
mod import;
mod list;
mod show;
mod up;

pub use asked::{asked, declare_one};
pub use check::check;
pub use import::import;
pub use list::list;
pub use show::show;
pub use up::{down, reload, up};
