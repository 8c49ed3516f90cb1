//! All requests to a supervisor. Each operation is one type for the request and one for the response, in the file of
//! its subject, and one line in [`CATALOGUE`]. Every face (command line, socket, HTTP) takes its operations from
//! here.

pub mod agents;
pub mod apps;
mod catalogue;
pub mod daemon;
pub mod journal;
pub mod logs;
pub mod mail;
pub mod nudges;
mod operation;
mod params;
pub mod patrol;
pub mod pools;
pub mod runs;
mod schemas;
pub mod units;
pub mod wire;

pub use catalogue::{CATALOGUE, Entry};
pub use operation::{Cost, Done, Kind, Operation, Right, Route};
pub use params::{BadParam, fields_of};
pub use schemas::schemas;
