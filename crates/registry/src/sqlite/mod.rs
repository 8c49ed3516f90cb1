mod history;
mod leases;
mod mail;
mod nudges;
mod patrol;
mod pools;
mod reader;
mod rows;
mod schema;
mod sessions;
mod units;
mod writer;

pub use leases::{Claims, Theft};
pub use mail::Sent;
pub use patrol::Ordered;
pub use reader::{Reader, RunQuery};
pub use writer::{Batch, Moment, Registry};
