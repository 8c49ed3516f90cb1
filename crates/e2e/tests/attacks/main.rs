//! Every known way to take the daemon down, to fool it or to make it lie, tried against the real binary.
//! Where it matters who asks, each is tried as root and as an ordinary user without cgroups (`both`).

mod caps;
mod files;
mod journal;
mod kept;
mod left_behind;
mod look_alikes;
mod reapers;
mod sockets;
mod storms;
mod strangers;
mod successors;
mod terminals;

use ostler_e2e::Home;

/// A home of whoever runs the tests, and one of an ordinary user without cgroups.
fn both() -> [Home; 2] {
    [Home::new(), Home::of_ordinary_user()]
}
