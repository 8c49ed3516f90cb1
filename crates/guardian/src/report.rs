//! The guardian's report to the process that started it: one line on standard output. The reader reads until end of
//! file. On success the guardian closes standard output at once. On failure it stays open until the guardian exits, so
//! that nothing of the guardian is left when the reader reports the failure.

use std::fs::File;

#[derive(Default)]
pub(crate) struct Report {
    is_given: bool,
}

impl Report {
    /// The supervisor is ready, and the guardian stays.
    pub(crate) fn ready(&mut self) {
        if self.write("ready")
            && let Ok(null) = File::options().write(true).open("/dev/null")
        {
            let _ = rustix::stdio::dup2_stdout(&null);
        }
    }

    /// The guardian is about to exit for this reason.
    pub(crate) fn refused(&mut self, why: &str) {
        self.write(why);
    }

    fn write(&mut self, line: &str) -> bool {
        if std::mem::replace(&mut self.is_given, true) {
            return false;
        }
        let _ = rustix::io::write(rustix::stdio::stdout(), format!("{line}\n").as_bytes());
        true
    }
}
