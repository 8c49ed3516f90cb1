//! `ostler run`: one run, in the foreground or in the background.

use super::follow::{Ending, Follow, Keys, OnInterrupt};
use super::queue;
use super::reconnecting_view::ReconnectingView;
use crate::args::RunArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::{errln, outln};
use crate::render;
use ostler_client::{Client, ClientError, RESENDS_MOST};
use ostler_model::{
    Backend, Detach, Extinct, Limits, OsText, Purpose, Resources, RunId, RunRecord, RunResult,
    RunSpec, RunState, Termination,
};
use ostler_ops::runs::{Leave, Spawn, View, ViewFrom};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

/// The key that detaches from a run in the foreground: Ctrl-].
const DETACH_KEY: u8 = 0x1d;

pub fn run(context: &Context, arguments: RunArguments) -> Result<Exit, Failure> {
    let on_terminal =
        arguments.pty && !arguments.detach && ostler_os::is_terminal(std::io::stdin());
    let spec = spec_of(&arguments, on_terminal)?;
    let size = spec.size;
    // Before any thread is started, so that every thread inherits the blocked signals.
    let events = (!arguments.detach).then(ostler_os::ForegroundEvents::listen).transpose()?;
    let mut client = context.connect()?;
    let mut record = begin(context, &mut client, Box::new(spec))?;
    if let Some(events) = events.as_ref().filter(|_| record.state == RunState::Queued) {
        errln!("ostler: queued: {}", record.why.as_deref().unwrap_or_default());
        record = queue::until_begun(context, &mut client, record.run_id, events)?;
    }
    if record.state == RunState::Exited && record.started_at_ms.is_none() {
        return never_ran(&record, &arguments);
    }
    let Some(events) = events else {
        if arguments.json {
            outln!("{}", serde_json::to_string(&record.result())?);
        } else {
            outln!("{}", record.run_id);
            if record.state == RunState::Queued {
                errln!("ostler: queued: {}", record.why.as_deref().unwrap_or_default());
            }
        }
        return Ok(Exit::DONE);
    };
    let keys = match (on_terminal, arguments.stdin) {
        (true, _) => Keys::Terminal { detach: DETACH_KEY },
        (false, true) => Keys::Stdin { close: true },
        (false, false) => Keys::None,
    };
    let call = View {
        run: record.run_id.to_string(),
        from: ViewFrom::Start,
        follow: true,
        interactive: keys != Keys::None,
        size: on_terminal.then_some(size),
    };
    let view = ReconnectingView::open(context, client, call)?;
    let mut follow = Follow::new(record.run_id, arguments.capture);
    let ending = follow.until_ended(context, view, keys, events, OnInterrupt::Cancel);
    match ending.map_err(|failure| without_daemon(failure, record.run_id))? {
        Ending::Detached => {
            leave(context, record.run_id)?;
            errln!("\r\nostler: detached from run {}; return with `ostler attach`", record.run_id);
            Ok(Exit::DONE)
        }
        Ending::Ended(result) => {
            if arguments.json {
                print_result(&result, &follow)?;
            } else {
                notify(&result, &arguments);
            }
            Ok(Exit::of_run(&result))
        }
    }
}

/// Starts a run that ends with this process and whose output is not shown.
pub fn begin_unshown(
    context: &Context,
    client: &mut Client,
    arguments: &RunArguments,
) -> Result<RunRecord, Failure> {
    let record = begin(context, client, Box::new(spec_of(arguments, false)?))?;
    match record.state == RunState::Exited && record.started_at_ms.is_none() {
        true => {
            Err(Failure::failed(anyhow::anyhow!("the run did not start: {:?}", record.result())))
        }
        false => Ok(record),
    }
}

/// The next daemon adopts the run, finds that its client is gone, and ends it.
fn without_daemon(failure: Failure, run: RunId) -> Failure {
    match failure.cause.downcast_ref() {
        Some(ClientError::Gone { home }) => Failure {
            cause: anyhow::anyhow!(
                "the daemon of {} died and is not restarted; run {run} may still be running, and `ostler start` ends it",
                home.display()
            ),
            ..failure
        },
        Some(_) | None => failure,
    }
}

/// Marks the run to continue without this client. A supervisor must confirm it before this process exits.
fn leave(context: &Context, run: RunId) -> Result<(), Failure> {
    loop {
        match context.connect_again()?.call(&Leave::of(run)) {
            Err(ClientError::Lost(_)) => {}
            // The run has ended meanwhile.
            Err(ClientError::Refused(_)) | Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sends the request. If the supervisor dies before it answers, its successor gets the same request and starts the run
/// only if it does not exist. If supervisors keep dying, the request may be the cause, so it is not sent again.
fn begin(context: &Context, client: &mut Client, spec: Box<RunSpec>) -> Result<RunRecord, Failure> {
    let spawn = Spawn(spec);
    for _ in 0..RESENDS_MOST {
        match client.call(&spawn) {
            Err(lost @ ClientError::Lost(_)) => match context.connect_running() {
                Ok(next) => *client = next,
                Err(_) => return Err(lost.into()),
            },
            answer => return Ok(answer?),
        }
    }
    match client.call(&spawn) {
        Err(ClientError::Lost(_)) => Err(context.deadly().into()),
        answer => Ok(answer?),
    }
}

fn spec_of(arguments: &RunArguments, on_terminal: bool) -> Result<RunSpec, Failure> {
    let cwd = match &arguments.cwd {
        Some(folder) => std::path::absolute(folder)?,
        None => std::env::current_dir().map_err(|error| {
            Failure::usage(format!("the current directory does not exist ({error}); use --cwd"))
        })?,
    };
    let own_size = on_terminal.then(ostler_os::own_terminal_size).flatten();
    let off = |limit: Option<u64>| limit.filter(|limit| *limit > 0);
    Ok(RunSpec {
        run_id: Some(RunId::new(ostler_os::wall_ms(), ostler_os::random()?)),
        argv: arguments.command.iter().map(|argument| text(argument)).collect(),
        cwd: text(cwd.as_os_str()),
        env: environment(arguments),
        umask: ostler_os::umask(),
        backend: if arguments.pty { Backend::Pty } else { Backend::Pipe },
        size: arguments.size.or(own_size).unwrap_or_default(),
        stdin: arguments.stdin,
        session_id: arguments.session.clone(),
        purpose: Purpose::Program,
        unit: None,
        scope_key: arguments.scope.clone(),
        limits: Limits {
            timeout_ms: off(arguments.timeout),
            no_output_timeout_ms: off(arguments.no_output_timeout),
            grace_ms: arguments.grace,
            stop_signal: None,
        },
        resources: Resources {
            memory_bytes: arguments.memory,
            cpu_shares: arguments.cpu_shares,
            descriptors: arguments.fds,
        },
        pool: arguments.pool.clone(),
        detach: match (arguments.allow_detach, arguments.strict) {
            (true, _) => Detach::Allow,
            (false, true) => Detach::Strict,
            (false, false) => Detach::Forbid,
        },
        keep: arguments.keep,
        foreground: !arguments.detach,
    })
}

fn text(text: &OsStr) -> OsText {
    OsText(text.as_bytes().to_vec())
}

/// The environment of this process, changed by `--env` and `--unset`.
fn environment(arguments: &RunArguments) -> Vec<OsText> {
    let mut variables: Vec<(Vec<u8>, Vec<u8>)> = std::env::vars_os()
        .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
        .collect();
    for given in &arguments.env {
        let bytes = given.as_bytes();
        let Some(place) = bytes.iter().position(|byte| *byte == b'=') else { continue };
        let (name, value) = (&bytes[..place], &bytes[place + 1..]);
        variables.retain(|(known, _)| known != name);
        variables.push((name.to_vec(), value.to_vec()));
    }
    for name in &arguments.unset {
        variables.retain(|(known, _)| known != name.as_bytes());
    }
    variables.into_iter().map(|(name, value)| OsText([name, value].join(&b'='))).collect()
}

fn never_ran(record: &RunRecord, arguments: &RunArguments) -> Result<Exit, Failure> {
    let result = record.result();
    errln!(
        "ostler: {}",
        record.error.as_deref().unwrap_or("the run was cancelled before it started")
    );
    if arguments.json {
        print_result(&result, &Follow::new(record.run_id, arguments.capture))?;
    }
    Ok(Exit::of_run(&result))
}

#[derive(serde::Serialize)]
struct Printed<'a> {
    #[serde(flatten)]
    result: &'a RunResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Option<Cow<'a, str>>,
}

/// Prints the result on its own line, even if the program's output did not end with a newline.
fn print_result(result: &RunResult, follow: &Follow) -> Result<(), Failure> {
    let captured = follow.captured();
    let line = serde_json::to_string(&Printed {
        result,
        stdout: captured.map(|(stdout, _)| String::from_utf8_lossy(stdout)),
        stderr: captured.map(|(_, stderr)| String::from_utf8_lossy(stderr)),
    })?;
    let mut out = std::io::stdout().lock();
    if follow.ended_inside_a_line() {
        writeln!(out)?;
    }
    writeln!(out, "{line}")?;
    Ok(())
}

/// Prints why the run ended, unless the program exited by itself.
fn notify(result: &RunResult, arguments: &RunArguments) {
    let ran = render::duration(result.duration_ms.unwrap_or(0));
    if matches!(result.termination, Some(Termination::Exit | Termination::Signal)) {
        report_escaped(result);
    }
    let description = match result.termination {
        Some(Termination::Exit) if result.out_of_memory => {
            format!("exit {}, out of memory, after {ran}", result.exit_code.unwrap_or(0))
        }
        Some(Termination::Exit) | None => return,
        Some(Termination::Signal) if result.out_of_memory => {
            format!("killed after {ran}: out of memory")
        }
        Some(Termination::Signal) => {
            format!("killed by {} after {ran}", render::signal(result.exit_signal.unwrap_or(0)))
        }
        Some(Termination::OverallTimeout) => format!(
            "killed after {ran}: exceeded --timeout {}",
            render::option_duration(arguments.timeout.unwrap_or(0))
        ),
        Some(Termination::NoOutputTimeout) => format!(
            "killed after {ran}: no output, exceeded --no-output-timeout {}",
            render::option_duration(arguments.no_output_timeout.unwrap_or(0))
        ),
        Some(Termination::OwnershipEscape) => {
            report_escaped(result);
            return;
        }
        Some(Termination::ManualCancel) => match &result.cancel_reason {
            Some(said) => format!("cancelled after {ran}: {}", render::cut(said, usize::MAX)),
            None => format!("cancelled after {ran}"),
        },
        Some(Termination::SpawnError | Termination::ReconciledStale | Termination::LeaseLost) => {
            result.error.clone().unwrap_or_else(|| "the supervisor lost the run".to_owned())
        }
    };
    errln!("ostler: {description} (run {}; details: `ostler why`)", result.run_id);
}

/// Prints in one line which processes the program left running outside its process group.
fn report_escaped(result: &RunResult) {
    const NAMED: usize = 3;
    const COMMAND_MOST: usize = 60;
    let count = result.escaped.len();
    if count == 0 {
        return;
    }
    let named = result.escaped.iter().take(NAMED).map(|escapee| match escapee.command.as_str() {
        "" => format!("pid {}", escapee.pid),
        command => format!("pid {} ({})", escapee.pid, render::cut(command, COMMAND_MOST)),
    });
    let mut named = named.collect::<Vec<_>>().join(", ");
    if count > NAMED {
        named += &format!(" and {} more", count - NAMED);
    }
    let what = if count == 1 { "a process" } else { "processes" };
    let became = match (result.extinct, &result.error) {
        (Extinct::Yes, _) if count == 1 => "it was killed".to_owned(),
        (Extinct::Yes, _) => "they were killed".to_owned(),
        (Extinct::No | Extinct::Unknown, Some(error)) => {
            format!("not all could be killed: {error}")
        }
        (Extinct::No, None) => "not all could be killed".to_owned(),
        (Extinct::Unknown, None) => "it is not known whether all of it has ended".to_owned(),
    };
    let strict = match result.termination {
        Some(Termination::OwnershipEscape) => ", a failure because of --strict",
        _ => "",
    };
    errln!(
        "ostler: the program exited and left {what} running: {named}; {became}{strict} (run {}; details: `ostler why`)",
        result.run_id
    );
}
