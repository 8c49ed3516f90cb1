//! Saying things to whoever still listens. The standard macros panic when a pipe is closed or a disk is
//! full; neither is a reason to end otherwise than well.

/// A line on standard output: a result.
macro_rules! say {
    ($($part:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout().lock(), $($part)*);
    }};
}

/// A line on standard error: a diagnostic.
macro_rules! tell {
    ($($part:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr().lock(), $($part)*);
    }};
}

pub(crate) use {say, tell};
