//! Units that report to the supervisor: apps on the app socket, and programs that use sd_notify.

pub(crate) mod dispatch;
mod proof;
mod sd_notify;
mod status;
mod table;

pub use proof::Proof;
pub(crate) use sd_notify::receive;
pub use status::{AppNotice, AppReport};
pub use table::{Apps, Refused};
