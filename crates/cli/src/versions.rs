//! The warning about a daemon of another version.

use crate::print::errln;
use std::sync::atomic::{AtomicBool, Ordering};

const OURS: &str = env!("CARGO_PKG_VERSION");

/// The warning is printed at most once per process.
static IS_SAID: AtomicBool = AtomicBool::new(false);

/// Warns if the daemon has another version. Both can talk to each other; features of the newer one are missing.
pub fn met(theirs: &str) {
    if let Some(warning) = warning(OURS, theirs)
        && !IS_SAID.swap(true, Ordering::Relaxed)
    {
        errln!("{warning}");
    }
}

/// Suppresses the warning in a command that replaces the daemon's program.
pub fn expect_another() {
    IS_SAID.store(true, Ordering::Relaxed);
}

fn warning(ours: &str, theirs: &str) -> Option<String> {
    if ours == theirs {
        return None;
    }
    let numbers = |version: &str| {
        version.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>()
    };
    let cure = match numbers(theirs) < numbers(ours) {
        true => "run `ostler upgrade` to update the daemon; runs continue".to_owned(),
        false => format!("install ostler {theirs}"),
    };
    Some(format!(
        "ostler: warning: this is ostler {ours}, but the daemon is ostler {theirs}; {cure}"
    ))
}

#[cfg(test)]
mod tests {
    use super::warning;

    #[test]
    fn a_daemon_of_another_version_gets_a_warning_with_the_remedy() {
        assert_eq!(warning("0.2.0", "0.2.0"), None);
        let older = warning("0.10.0", "0.9.1").expect("a warning");
        assert!(older.contains("ostler upgrade"), "{older}");
        let newer = warning("0.9.1", "0.10.0").expect("a warning");
        assert!(newer.contains("install ostler 0.10.0"), "{newer}");
    }
}
