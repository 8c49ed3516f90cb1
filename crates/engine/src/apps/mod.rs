//! Units that talk back: what they prove, what they say, and what they are told.

mod proof;
mod said;
mod table;
mod vitals;

pub use proof::Proof;
pub(crate) use said::hear;
pub use table::{Apps, Refused};
pub use vitals::{Told, Vitals};
