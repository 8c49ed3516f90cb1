//! Units that talk back: what they prove, what they say, and what they are told.

pub(crate) mod dispatch;
mod proof;
mod sd_notify;
mod status;
mod table;

pub use proof::Proof;
pub(crate) use sd_notify::receive;
pub use status::{AppNotice, AppReport};
pub use table::{Apps, Refused};
