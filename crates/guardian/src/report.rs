//! What whoever started us is told: one line on standard output, then it is closed.

use std::fs::File;

#[derive(Default)]
pub(crate) struct Report {
    is_given: bool,
}

impl Report {
    pub(crate) fn give(&mut self, line: &str) {
        if std::mem::replace(&mut self.is_given, true) {
            return;
        }
        let _ = rustix::io::write(rustix::stdio::stdout(), format!("{line}\n").as_bytes());
        if let Ok(null) = File::options().write(true).open("/dev/null") {
            let _ = rustix::stdio::dup2_stdout(&null);
        }
    }
}
