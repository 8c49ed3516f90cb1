use super::status::Status;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::{errln, outln};
use crate::render;
use ostler_client::{Client, ClientError, greet};
use ostler_model::{Extinct, RunResult};
use ostler_ops::daemon::{Shutdown, Stopped};
use ostler_os::{Process, Signal};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(1);
/// The guardian always ends within this time. Its supervisor has 30 s or the longest grace period, then the guardian
/// kills it, then two successors in the same way, and then all remaining processes.
const MOST_MS: u64 = 240_000;

/// Stops the daemon, and returns when every run, the supervisor and its guardian are gone.
pub fn stop(context: &Context, json: bool) -> Result<Exit, Failure> {
    let answer = end(context)?;
    if json {
        outln!("{}", serde_json::to_string(&answer)?);
    }
    Ok(print_outcome(context, &answer, json))
}

/// Stops the daemon without printing.
pub fn end(context: &Context) -> Result<Stopped, Failure> {
    let status = Status::look(context)?;
    if !status.running {
        return Err(ClientError::NotRunning { home: context.home.path().to_owned() }.into());
    }
    // Connect first: this fails for the home of another user, which must not be stopped.
    let greeted = greet(&context.home.sockets(), PATIENCE)?;
    let open = |pid: Option<i32>| {
        let pid = pid.filter(|pid| ostler_os::holds_open(*pid, &context.home.lock()))?;
        Process::open(&ostler_os::fingerprint_of(pid)?)
    };
    let (guardian, gateway) = (open(status.pid), open(status.supervisor_pid));
    let live_before = ostler_engine::recorded_live(&context.home);
    let asked = greeted.map(|(client, _)| ask(client));
    // The guardian's TERM may reach the supervisor before the request does.
    context.home.note_stopped();
    // After the request, so that the guardian does not restart a supervisor that dies.
    if let Some(guardian) = &guardian {
        guardian.signal(Signal::Term);
        guardian.signal(Signal::Continue);
    } else if let (Some(gateway), None) = (&gateway, &asked) {
        gateway.signal(Signal::Term);
    }
    let answer = asked.and_then(|asked| asked.ok()).and_then(answer);
    for process in [&gateway, &guardian].into_iter().flatten() {
        if !process.wait_gone(Some(MOST_MS))? {
            let pid = process.fingerprint().pid;
            return Err(Failure::failed(anyhow::anyhow!("process {pid} did not exit")));
        }
    }
    Ok(answer.unwrap_or_else(|| Stopped {
        pid: status.supervisor_pid.or(status.pid).unwrap_or(0) as u32,
        ended: ostler_engine::recorded_ends(&context.home, &live_before),
        unsaved: 0,
        left: ostler_engine::recorded_left(&context.home),
    }))
}

fn ask(mut client: Client) -> Result<Client, ClientError> {
    client.ask(&Shutdown {})?;
    Ok(client)
}

/// `None` if the supervisor died before it answered.
fn answer(mut client: Client) -> Option<Stopped> {
    client.next_response().ok()
}

/// Prints the ended runs, or with `only_wrong` only the failures.
pub fn print_outcome(context: &Context, answer: &Stopped, only_wrong: bool) -> Exit {
    if !only_wrong {
        for result in &answer.ended {
            let record = ostler_engine::recorded(&context.home, result.run_id);
            match record.and_then(|record| record.unit) {
                Some(unit) => outln!("{}", render::unit_result_line(&unit, result)),
                None => outln!("{}", render::result_line(result)),
            }
        }
        let runs = render::count(answer.ended.len(), "run");
        let killed = answer.ended.iter().filter(|result| was_killed(result)).count();
        let description = match killed {
            0 => String::new(),
            killed => format!(", {killed} of them by SIGKILL"),
        };
        outln!("supervisor {} stopped, {runs} ended{description}", answer.pid);
    }
    let mut left = answer.left.clone();
    if left.is_empty() {
        let survived = answer.ended.iter().filter(|result| result.extinct == Extinct::No);
        left.extend(survived.map(describe_survivor));
    }
    for line in &left {
        errln!("ostler: {line}");
    }
    if !left.is_empty() {
        return Exit::FAILED;
    }
    if answer.unsaved > 0 {
        errln!(
            "ostler: {} could not be written to the registry; the next start records these runs as stale",
            render::count(answer.unsaved as usize, "result")
        );
        return Exit::FAILED;
    }
    Exit::DONE
}

/// A run of which something could not be ended.
pub fn describe_survivor(result: &RunResult) -> String {
    let why = result.error.as_deref().unwrap_or("not ended");
    format!("run {}: {why}", result.run_id)
}

fn was_killed(result: &RunResult) -> bool {
    const KILL: i32 = 9;
    result.exit_signal == Some(KILL)
}
