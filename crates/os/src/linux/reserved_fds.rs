//! Descriptors that are held back, so that a tree can be looked at and ended when there are no more to be had.

use std::fs::File;
use std::io;
use std::sync::{Mutex, PoisonError};

/// One to look with, while another holds who is to be signalled; and some for whoever is quicker than we are.
const HELD_MOST: usize = 4;

static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// Takes them while they are to be had.
pub(super) fn hold_back() {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    while held.len() < HELD_MOST {
        let Ok(file) = File::open("/dev/null") else { break };
        held.push(file);
    }
}

/// Does it, with one of those that were held back if there is no other. It has to close what it opens, or else
/// somebody has to `hold_back` again.
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
