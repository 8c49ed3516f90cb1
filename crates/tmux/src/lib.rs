//! A session of tmux as a run. Its first process for us is a shim, as with a container: it makes the session, passes its
//! output on, tells how the program in it ended, and ends it when it is asked to.

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

/// The programs that live in a pane, by the pid of its first. Our own, which waits there for a unit's program, is none.
pub fn tree_of(pane_pid: i32) -> Vec<ostler_os::LiveProcess> {
    let mut alive = ostler_os::alive_in_family(pane_pid);
    alive.retain(|one| one.pid != pane_pid || one.name != "ostler");
    alive
}
