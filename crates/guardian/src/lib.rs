//! The guardian: the small process above the supervisor. It restarts the supervisor after a crash, holds the file
//! descriptors that must outlive the supervisor, and reaps the processes that a dead supervisor orphans.
//!
//! It speaks systemd's service protocol (sd_notify, the descriptor store, socket activation, the watchdog), so a
//! supervisor works the same under the guardian and under systemd. The guardian has one thread and no async
//! runtime.

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

pub use crash_log::{Crash, append as append_crash};
pub use guard::guard;
pub use machine::{
    Action, Event, Exit, HAND_OVER, Limits, Machine, Purpose, REFUSED, StopSignal,
    SupervisorMessage,
};
pub use sd_notify::{Notification, parse};
pub use state_file::Counters;

/// The socket on which the guardian of a home receives notifications, relative to the home.
pub const SOCKET: &str = "guardian.sock";
/// In the supervisor's environment: the pid of its guardian.
pub const GUARDIAN_VARIABLE: &str = "OSTLER_GUARDIAN";
/// In the supervisor's environment: the crash counters, for a guardian that the supervisor may have to start.
pub const COUNTERS_VARIABLE: &str = "OSTLER_GUARDIAN_COUNTERS";
/// In a guardian's environment: the pid of a supervisor that already runs.
pub const SUPERVISOR_VARIABLE: &str = "OSTLER_SUPERVISOR";
/// In a guardian's environment: how long that supervisor has run, in milliseconds.
pub const RAN_VARIABLE: &str = "OSTLER_SUPERVISOR_RAN_MS";
/// In the supervisor's environment: why the guardian returned to the previous executable. The name is that of earlier
/// versions, which may be on the other side.
pub const ROLLBACK_VARIABLE: &str = "OSTLER_WENT_BACK";
/// The watchdog timeout: the longest silence allowed to a supervisor, in milliseconds.
pub const WATCHDOG_VARIABLE: &str = "OSTLER_WATCHDOG_MS";
