//! Every known attack on the daemon, against the real executable.
//! Attacks that depend on the user are tried as root and as an ordinary user without cgroups (`both`).

mod caps;
mod files;
mod inherited;
mod journal;
mod kept;
mod leavers;
mod left_behind;
mod locked;
mod look_alikes;
mod other_users;
mod reapers;
mod sockets;
mod storms;
mod successors;
mod terminals;

use ostler_e2e::Home;

/// A home of the user who runs the tests, and one of an ordinary user without cgroups.
fn both() -> [Home; 2] {
    [Home::new(), Home::of_ordinary_user()]
}
