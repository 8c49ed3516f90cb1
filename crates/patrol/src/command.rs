//! Runs the commands that the patrol queries. Each is an ordinary run with a timeout; the supervisor owns and ends its
//! whole process tree.

use crate::connection::Connector;
use crate::error::PatrolError;
use ostler_client::{Client, Frame};
use ostler_model::{
    Backend, Detach, Limits, OsText, Purpose, Resources, RunId, RunResult, RunSpec, TerminalSize,
};
use ostler_ops::runs::{Cancel, Spawn, View, ViewFrom};
use std::os::unix::ffi::OsStrExt;

/// A command with more output than this is cancelled.
const OUTPUT_MOST: usize = 1 << 20;

#[derive(Clone, Debug)]
pub struct Question<'a> {
    pub argv: &'a [String],
    pub cwd: &'a str,
    pub env: Vec<(String, String)>,
    pub input: &'a [u8],
    pub timeout_ms: u64,
    pub purpose: Purpose,
    /// The group of runs that the configuration names; empty if it names none.
    pub session: &'a str,
}

/// The result of the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    Ended { run: RunId, code: Option<i32>, output: Vec<u8> },
    TimedOut { run: RunId },
    TooMuch { run: RunId },
    NotStarted { why: String },
}

pub fn ask(connector: &Connector, question: &Question<'_>) -> Result<CommandEnd, PatrolError> {
    let mut client = connector.client()?;
    let record = client.call(&Spawn(Box::new(spec(question))))?;
    let run = record.run_id;
    if record.pid.is_none() {
        let why = record.error.unwrap_or_else(|| "it could not be started".to_owned());
        return Ok(CommandEnd::NotStarted { why });
    }
    // The command may exit or close its input before it has read everything.
    let _ = client.give(&run.to_string(), question.input, true);
    collect(connector, run)
}

fn collect(connector: &Connector, run: RunId) -> Result<CommandEnd, PatrolError> {
    let mut output = Vec::new();
    let call = View {
        run: run.to_string(),
        from: ViewFrom::Start,
        follow: true,
        interactive: false,
        size: None,
    };
    let mut view = connector.client()?.view(&call)?;
    loop {
        view.advance()?;
        match view.frame()? {
            Frame::Stdout(bytes) => {
                output.extend_from_slice(bytes);
                if output.len() > OUTPUT_MOST {
                    cancel(connector.client()?, run);
                    return Ok(CommandEnd::TooMuch { run });
                }
            }
            Frame::Ended(result) => return Ok(ended(run, &result, output)),
            Frame::Error(refusal) => {
                return Err(ostler_client::ClientError::Refused(refusal).into());
            }
            Frame::Stderr(_) | Frame::Gap(_) | Frame::Time(_) | Frame::Caught => {}
        }
    }
}

fn ended(run: RunId, result: &RunResult, output: Vec<u8>) -> CommandEnd {
    if result.timed_out {
        CommandEnd::TimedOut { run }
    } else {
        CommandEnd::Ended { run, code: result.exit_code, output }
    }
}

fn cancel(mut client: Client, run: RunId) {
    let _ = client.call(&Cancel::of(run));
}

fn spec(question: &Question<'_>) -> RunSpec {
    let text = |text: &str| OsText(text.as_bytes().to_vec());
    let inherited = std::env::vars_os()
        .filter(|(name, _)| name != RunSpec::RUN_ID_VARIABLE)
        .filter(|(name, _)| !question.env.iter().any(|(own, _)| name == own.as_str()))
        .map(|(name, value)| OsText([name.as_bytes(), b"=", value.as_bytes()].concat()));
    let own = question.env.iter().map(|(name, value)| text(&format!("{name}={value}")));
    RunSpec {
        run_id: None,
        argv: question.argv.iter().map(|word| text(word)).collect(),
        cwd: text(question.cwd),
        env: inherited.chain(own).collect(),
        umask: ostler_os::umask(),
        backend: Backend::Pipe,
        size: TerminalSize::default(),
        stdin: true,
        session_id: question.session.to_owned(),
        purpose: question.purpose,
        unit: None,
        scope_key: None,
        limits: Limits { timeout_ms: Some(question.timeout_ms), ..Limits::default() },
        resources: Resources::default(),
        pool: None,
        detach: Detach::Forbid,
        keep: false,
        foreground: false,
    }
}
