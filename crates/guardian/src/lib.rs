//! The small process above the supervisor: it starts the supervisor again whenever it dies, holds the
//! descriptors that must outlive it, and reaps what is orphaned by its death.
//!
//! It speaks the words of systemd's service protocol (sd_notify, the descriptor store, socket
//! activation, the watchdog), so that a supervisor need not know which of the two is above it. It has
//! no thread, no runtime, and depends on nothing else of ours.

mod child;
mod crash_log;
mod executable;
mod guard;
mod machine;
mod mailbox;
mod output;
mod report;
mod sd_notify;
mod signals;
mod startup;
mod state_file;
mod store;
mod time;

pub use crash_log::{Crash, append as append_crash};
pub use guard::guard;
pub use machine::{
    Action, Event, Exit, HAND_OVER, Limits, Machine, Purpose, REFUSED, StopSignal,
    SupervisorMessage,
};
pub use sd_notify::{Notification, parse};
pub use state_file::Counters;

/// Where the guardian of a home is told things; relative to the home.
pub const SOCKET: &str = "guardian.sock";
/// In the supervisor's environment: who its guardian is.
pub const GUARDIAN_VARIABLE: &str = "OSTLER_GUARDIAN";
/// In the supervisor's environment, for the guardian it may have to start: what has been counted.
pub const COUNTERS_VARIABLE: &str = "OSTLER_GUARDIAN_COUNTERS";
/// In a guardian's environment: the supervisor that lives already.
pub const SUPERVISOR_VARIABLE: &str = "OSTLER_SUPERVISOR";
/// In a guardian's environment: for how long that supervisor has run, in milliseconds.
pub const RAN_VARIABLE: &str = "OSTLER_SUPERVISOR_RAN_MS";
/// In the supervisor's environment: why the binary it was replaced by did not take its place.
pub const WENT_BACK_VARIABLE: &str = "OSTLER_WENT_BACK";
/// How long a supervisor may be silent, in milliseconds.
pub const WATCHDOG_VARIABLE: &str = "OSTLER_WATCHDOG_MS";
