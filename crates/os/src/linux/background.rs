//! Starting our own executable in the background, away from the caller's terminal.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A started supervisor, until it has said that it is ready or why not.
#[derive(Debug)]
pub struct Background {
    child: std::process::Child,
}

/// Starts it in a session of its own, with its standard output as the line on which it reports.
#[expect(
    clippy::disallowed_methods,
    reason = "the supervisor itself is not a run: nobody owns it yet"
)]
pub fn start_background(
    program: &Path,
    arguments: &[&str],
    log: std::fs::File,
) -> io::Result<Background> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::from(log));
    #[expect(unsafe_code, reason = "std has no setsid yet")]
    // SAFETY: setsid is async-signal-safe and touches no memory.
    unsafe {
        command.pre_exec(|| rustix::process::setsid().map(|_| ()).map_err(io::Error::from));
    }
    Ok(Background { child: command.spawn()? })
}

impl Background {
    /// What it reported before it closed the line: empty if it died without a word.
    pub fn report(mut self) -> String {
        let mut report = String::new();
        if let Some(mut line) = self.child.stdout.take() {
            let _ = line.read_to_string(&mut report);
        }
        report
    }
}
