//! The SDK logs to standard error, which Ostler stores.

use std::io::Write;

pub(super) fn warn(text: &str) {
    say("warning", text);
}

pub(super) fn error(text: &str) {
    say("error", text);
}

fn say(level: &str, text: &str) {
    // If standard error is closed, the message is lost.
    let _ = writeln!(std::io::stderr(), "{level}: {text}");
}
