//! `ostler`: the command line, the supervisor that it starts in the background, and the supervisor's guardian.

mod args;
mod context;
mod exit;
mod habits;
mod print;
mod render;
mod saved_settings;
mod screen_judge;
mod settings;
mod supervisor;
mod verbs;
mod versions;

use crate::print::errln;
use clap::Parser;
use exit::Exit;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    ostler_os::restore_sigchld();
    if let Some(code) = small() {
        return ExitCode::from(code);
    }
    let arguments = match args::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            if let Some(hint) = habits::hint(&error) {
                errln!("ostler: {hint}");
                return ExitCode::from(Exit::USAGE.0);
            }
            // clap reports help and version as errors too; they go to standard output.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { Exit::USAGE.0 } else { 0 });
        }
    };
    match verbs::carry_out(arguments) {
        Ok(_) if print::is_lost() => {
            errln!("ostler: the result could not be written to standard output");
            ExitCode::from(Exit::FAILED.0)
        }
        Ok(exit) => ExitCode::from(exit.0),
        Err(failure) => {
            errln!("ostler: {}", failure.description());
            ExitCode::from(failure.exit.0)
        }
    }
}

/// Handles the guardian, the reaper of a run, `init` and `pane-exec` before the command line is parsed, so that these
/// long-lived processes use little memory.
fn small() -> Option<u8> {
    let mut words = std::env::args_os().skip(1);
    match words.next()?.to_str()? {
        "guardian" => words.next().map(|home| {
            ostler_os::ignore_limit_signals();
            ostler_guardian::guard(home.as_ref())
        }),
        "reaper" => words.next().map(|_| ostler_os::reap_run()),
        "pane-exec" => words.next().map(|place| ostler_tmux::take(&place) as u8),
        "init" if words.next()? == "--" => Some(verbs::init(&words.collect::<Vec<OsString>>()).0),
        _ => None,
    }
}
