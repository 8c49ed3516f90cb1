mod history;
mod leases;
mod reader;
mod rows;
mod schema;
mod units;
mod writer;

pub use leases::{Claims, Theft};
pub use reader::{Reader, RunQuery};
pub use writer::{Batch, Moment, Registry};
