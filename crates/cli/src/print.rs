//! Printing that does not panic. The standard macros panic when a pipe is closed or a disk is full. A closed pipe is
//! no error here; a result that cannot be written for another reason is one.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static LOST: AtomicBool = AtomicBool::new(false);

pub fn written(outcome: io::Result<()>) {
    if outcome.is_err_and(|error| error.kind() != io::ErrorKind::BrokenPipe) {
        LOST.store(true, Ordering::Relaxed);
    }
}

/// Whether a part of the result could not be written.
pub fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// Prints a line of the result to standard output.
macro_rules! outln {
    ($($part:tt)*) => {{
        use std::io::Write as _;
        let mut out = std::io::stdout().lock();
        crate::print::written(writeln!(out, $($part)*).and_then(|()| out.flush()));
    }};
}

/// Prints a diagnostic line to standard error.
macro_rules! errln {
    ($($part:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr().lock(), $($part)*);
    }};
}

pub(crate) use {errln, outln};
