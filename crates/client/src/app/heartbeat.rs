//! Heartbeats, at the interval Ostler asks for.

use super::error::AppError;
use super::link::Link;
use super::log;

/// Goes on until the link is closed. One heartbeat at a time: a waiting one is enough.
pub(super) fn beat(link: &Link) {
    while link.pause(link.interval()).is_ok() {
        match link.heartbeat(|_| Ok(())) {
            Ok(()) => {}
            Err(AppError::Closed | AppError::Superseded) => return,
            Err(error) => log::warn(&format!("a heartbeat failed: {}", error.description())),
        }
    }
}
