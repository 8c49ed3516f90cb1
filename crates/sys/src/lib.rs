//! What several crates need and what has one right way: clocks and times as text, files that other processes may touch,
//! the lock of a home, the end of a process behind a pidfd, and an error with its causes in one line. It knows no other
//! crate of Ostler. What the supervisor and its guardian both ask of the kernel is here, so that it is the same in both.

mod clock;
mod error_chain;
mod files;
mod limits;
mod lock;
mod memory;
mod pidfd;
mod time_text;

pub use clock::{mono_ms, wall_ms};
pub use error_chain::error_chain;
pub use files::{Durability, NONBLOCK, read_regular, write_atomic, write_atomic_by};
pub use limits::lift_descriptor_limit;
pub use lock::take_lock;
pub use memory::forget_text;
pub use pidfd::{exit_status, has_ended};
pub use time_text::{short_duration, utc, utc_plain};
