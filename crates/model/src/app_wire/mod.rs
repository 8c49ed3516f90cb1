//! Input of the app socket: bytes into lines, a line into a request or a fault.

mod lines;
mod message;

pub use lines::{LINE_MOST, Line, Lines, UNENDED_MOST};
pub use message::{Fault, FaultCode, Request, read_request};
