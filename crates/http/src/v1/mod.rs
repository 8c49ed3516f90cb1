//! `/api/v1`: the operations of the catalogue. The catalogue has their paths; this adapter parses parameters, sends the
//! operation to the control-socket thread, and prints the response.

mod answer;
mod command;
mod follow;
mod operations;
mod page;
mod query;

pub use operations::routes;
#[cfg(test)]
pub use operations::{HttpOperation, operations};
