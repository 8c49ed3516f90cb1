//! Ostler keeps what an app writes to its output, so that is where the SDK says what it has to say.

use std::io::Write;

pub(super) fn warn(text: &str) {
    say("warning", text);
}

pub(super) fn error(text: &str) {
    say("error", text);
}

fn say(level: &str, text: &str) {
    // Nobody is left to be told that nobody listens.
    let _ = writeln!(std::io::stderr(), "{level}: {text}");
}
