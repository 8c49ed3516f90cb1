//! The exit codes. No other module defines one.

use ostler_client::ClientError;
use ostler_model::{RunResult, SpawnErrorKind, Termination};
use ostler_ops::wire::ErrorCode;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(pub u8);

impl Exit {
    pub const DONE: Exit = Exit(0);
    pub const FAILED: Exit = Exit(1);
    pub const USAGE: Exit = Exit(2);
    pub const NOT_RUNNING: Exit = Exit(3);
    pub const NO_SUCH: Exit = Exit(4);
    pub const TIMED_OUT: Exit = Exit(124);
    pub const OURS: Exit = Exit(125);
    pub const NOT_EXECUTABLE: Exit = Exit(126);
    pub const NOT_FOUND: Exit = Exit(127);

    /// The exit code of `ostler run`.
    pub fn of_run(result: &RunResult) -> Exit {
        let own = match (result.exit_code, result.exit_signal) {
            (_, Some(signal)) => Exit((128 + signal).clamp(0, 255) as u8),
            (Some(code), None) => Exit(code.clamp(0, 255) as u8),
            (None, None) => Exit::OURS,
        };
        match result.termination {
            Some(Termination::Exit | Termination::Signal | Termination::ManualCancel) => own,
            Some(Termination::OverallTimeout | Termination::NoOutputTimeout) => Exit::TIMED_OUT,
            Some(Termination::SpawnError) => match result.spawn_error_kind {
                Some(SpawnErrorKind::NotFound) => Exit::NOT_FOUND,
                Some(SpawnErrorKind::NotExecutable) => Exit::NOT_EXECUTABLE,
                Some(_) | None => Exit::OURS,
            },
            // The program may have exited with 0, but the run failed.
            Some(
                Termination::OwnershipEscape
                | Termination::ReconciledStale
                | Termination::LeaseLost,
            )
            | None => Exit::OURS,
        }
    }
}

/// An error and its exit code.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub cause: anyhow::Error,
}

impl Failure {
    pub fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::USAGE, cause: anyhow::anyhow!(message.into()) }
    }

    pub fn failed(cause: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::FAILED, cause: cause.into() }
    }

    /// In `ostler run`, a failure of Ostler itself has the exit code 125.
    pub fn while_running(mut self) -> Self {
        if self.exit != Exit::USAGE && self.exit != Exit::NOT_RUNNING {
            self.exit = Exit::OURS;
        }
        self
    }

    /// The message with its causes in one line, without repetitions.
    pub fn description(&self) -> String {
        let mut description = String::new();
        for cause in self.cause.chain() {
            let text = cause.to_string();
            if !description.contains(&text) {
                if !description.is_empty() {
                    description.push_str(": ");
                }
                description.push_str(&text);
            }
        }
        description
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let exit = match &error {
            ClientError::NotRunning { .. } => Exit::NOT_RUNNING,
            ClientError::Refused(refusal) => match refusal.code {
                ErrorCode::NotFound => Exit::NO_SUCH,
                ErrorCode::Ambiguous | ErrorCode::InvalidRequest => Exit::USAGE,
                ErrorCode::ShuttingDown
                | ErrorCode::Conflict
                | ErrorCode::Elsewhere
                | ErrorCode::RegistryFailed
                | ErrorCode::Busy
                | ErrorCode::Internal => Exit::FAILED,
            },
            ClientError::Stopped { .. }
            | ClientError::Gone { .. }
            | ClientError::Untrusted(_)
            | ClientError::ForeignSocket { .. }
            | ClientError::Forbidden { .. }
            | ClientError::StartFailed { .. }
            | ClientError::NoAnswer { .. }
            | ClientError::Halted { .. }
            | ClientError::Lost(_)
            | ClientError::InputUnknown { .. }
            | ClientError::Deadly { .. }
            | ClientError::Unexpected => Exit::FAILED,
        };
        let cause = match sandbox_hint(&error) {
            None => error.into(),
            Some(hint) => anyhow::anyhow!("{error}; {hint}"),
        };
        Self { exit, cause }
    }
}

/// The setting that the agent's sandbox needs, from the profile of the agent that this process runs in.
fn sandbox_hint(error: &ClientError) -> Option<String> {
    let ClientError::Forbidden { .. } = error else { return None };
    let book = ostler_patrol::nudge::book();
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    book.all()
        .filter_map(|(_, profile)| profile.sandbox.as_ref())
        .find(|sandbox| is_set(&sandbox.env))
        .map(|sandbox| sandbox.hint.clone())
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::failed(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::failed(error)
    }
}
