//! A tmux session as a run. The run's first process is a shim, as with a container. The shim creates the session,
//! copies its output, reports how the program in it ended, and ends it on request.

mod call;
mod capture;
mod list;
mod note;
mod shim;
pub mod typing;

pub use call::{PATIENCE, Server, TmuxError, TmuxOutput, processes_started};
pub use capture::capture;
pub use list::{Listing, Pane, list};
pub use note::pane_of;
pub use shim::{is_meant, keep, sweep, take};

/// The live programs in a pane, by the pid of its first process. Leaves out Ostler's pane process, which waits there
/// for a unit's program.
pub fn tree_of(pane_pid: i32) -> Vec<ostler_os::LiveProcess> {
    let mut alive = ostler_os::alive_in_family(pane_pid);
    alive.retain(|one| one.pid != pane_pid || one.name != "ostler");
    alive
}
