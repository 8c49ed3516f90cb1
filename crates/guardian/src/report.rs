//! What whoever started us is told: one line on standard output. They read on until it is closed: at once if
//! all is well, and with our end if not, so that nothing of us is left when they tell their user.

use std::fs::File;

#[derive(Default)]
pub(crate) struct Report {
    is_given: bool,
}

impl Report {
    /// It is there, and we stay.
    pub(crate) fn ready(&mut self) {
        if self.write("ready")
            && let Ok(null) = File::options().write(true).open("/dev/null")
        {
            let _ = rustix::stdio::dup2_stdout(&null);
        }
    }

    /// We are about to end, and this is why.
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
