//! Sends heartbeats at the interval that Ostler asks for.

use super::error::AppError;
use super::link::Link;
use super::log;

/// Runs until the link is closed. It sends one heartbeat at a time.
pub(super) fn beat(link: &Link) {
    while link.pause(link.interval()).is_ok() {
        match link.heartbeat(|_| Ok(())) {
            Ok(()) => {}
            Err(AppError::Closed | AppError::Superseded) => return,
            Err(error) => log::warn(&format!("a heartbeat failed: {}", error.description())),
        }
    }
}
