//! Saying things to whoever still listens. The standard macros panic when a pipe is closed or a disk is
//! full. A reader that has gone is no error; a result that could not be written is.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static LOST: AtomicBool = AtomicBool::new(false);

pub fn written(outcome: io::Result<()>) {
    if outcome.is_err_and(|error| error.kind() != io::ErrorKind::BrokenPipe) {
        LOST.store(true, Ordering::Relaxed);
    }
}

/// Whether some of the result is nowhere.
pub fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// A line on standard output: a result.
macro_rules! outln {
    ($($part:tt)*) => {{
        use std::io::Write as _;
        let mut out = std::io::stdout().lock();
        crate::print::written(writeln!(out, $($part)*).and_then(|()| out.flush()));
    }};
}

/// A line on standard error: a diagnostic.
macro_rules! errln {
    ($($part:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr().lock(), $($part)*);
    }};
}

pub(crate) use {errln, outln};
