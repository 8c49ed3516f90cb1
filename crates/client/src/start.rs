//! Finding the supervisor of a home, or making one.

use crate::connection::Client;
use crate::error::ClientError;
use ostler_model::wire::{Answer, Call};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// Whether a supervisor may be started for this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    IfNeeded,
    Never,
}

const WAIT_SECONDS: u64 = 15;
const SILENT_MOST: u32 = 3;
const STEP: Duration = Duration::from_millis(10);

/// Connects to the supervisor at `socket`; starts `program supervisor` if nobody is there.
pub fn connect(
    home: &Path,
    socket: &Path,
    log: &Path,
    program: &Path,
    start: Start,
) -> Result<Client, ClientError> {
    if let Some(client) = greet(socket) {
        return Ok(client);
    }
    if start == Start::Never {
        return Err(ClientError::NotRunning { home: home.to_owned() });
    }
    // Several callers may do this at once: the lock of the home decides whose supervisor stays.
    let deadline = ostler_os::mono_ms() + WAIT_SECONDS * 1_000;
    let mut silent = 0;
    while ostler_os::mono_ms() < deadline {
        match launch(home, log, program)?.as_str() {
            "ready" | "owned" => {}
            // It died without a word; the next may not, and if it does, that is said.
            "" if silent < SILENT_MOST => {
                silent += 1;
                continue;
            }
            "" => {
                return Err(ClientError::StartFailed {
                    report: format!("it ended without a word; its log is {}", log.display()),
                });
            }
            report => return Err(ClientError::StartFailed { report: report.to_owned() }),
        }
        // The owner may still be about to open its door, or be just closing it.
        for _ in 0..20 {
            if let Some(client) = greet(socket) {
                return Ok(client);
            }
            ostler_os::nap(STEP);
        }
    }
    Err(ClientError::NoAnswer { home: home.to_owned(), seconds: WAIT_SECONDS, log: log.to_owned() })
}

/// A supervisor that answers: one that is just going away may still take a connection.
fn greet(socket: &Path) -> Option<Client> {
    let mut client = Client::new(ostler_os::connect(socket).ok()?).ok()?;
    matches!(client.call(Call::Ping), Ok(Answer::Pong(_))).then_some(client)
}

/// Starts one and returns what it reports: `ready`, `owned` by another, or what went wrong.
fn launch(home: &Path, log: &Path, program: &Path) -> Result<String, ClientError> {
    let failed = |what: &Path| {
        let what = what.display().to_string();
        move |error: io::Error| ClientError::StartFailed {
            report: format!(
                "{what}: {error}; set OSTLER_HOME to a folder of yours that can be written"
            ),
        }
    };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(home).map_err(failed(home))?;
    let log_file =
        OpenOptions::new().create(true).append(true).mode(0o600).open(log).map_err(failed(log))?;
    let started =
        ostler_os::start_background(program, &["supervisor"], log_file).map_err(failed(program))?;
    let report = started.report();
    Ok(report.trim().to_owned())
}
