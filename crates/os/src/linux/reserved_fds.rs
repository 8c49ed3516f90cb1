//! Reserved file descriptors, so that a process tree can be read and killed when the descriptor limit is reached.

use std::fs::File;
use std::io;
use std::sync::{Mutex, PoisonError};

/// One to read with while another holds the pidfd to signal, and some more in case another thread takes a freed one
/// first.
const HELD_MOST: usize = 4;

static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// Fills the reserve as far as descriptors are available.
pub(super) fn hold_back() {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    while held.len() < HELD_MOST {
        let Ok(file) = File::open("/dev/null") else { break };
        held.push(file);
    }
}

/// Calls `act`; if no descriptor is free, frees a reserved one and calls it again. `act` must close what it opens, or
/// the caller must call `hold_back` again.
pub(super) fn spend<T>(act: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let done = act();
    if !matches!(&done, Err(error) if error.raw_os_error() == Some(libc::EMFILE)) {
        return done;
    }
    HELD.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let done = act();
    hold_back();
    done
}
