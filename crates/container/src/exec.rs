//! Runs a command inside a unit's container, as a check. Exits with the command's exit code and leaves no process
//! behind.

use crate::engine;
use crate::ours;
use bollard::Docker;
use bollard::errors::Error;
use bollard::exec::{CreateExecOptions, StartExecResults};
use futures_util::StreamExt;
use ostler_model::ContainerOrder;
use std::io::Write;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{sleep, timeout};

/// The exit code a shell uses for a command that cannot be executed.
const NOT_BEGUN: i32 = 126;
/// The polling interval for the end of the command.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The engine may learn this much later (times `LOOK_EVERY`) that a container has died.
const LOOKS: usize = 15;
const ANSWER: Duration = Duration::from_secs(1);

pub fn exec(command: Vec<String>) -> i32 {
    let text = std::env::var(ContainerOrder::VARIABLE).unwrap_or_default();
    let Ok(order) = serde_json::from_str::<ContainerOrder>(&text) else { return NOT_BEGUN };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return NOT_BEGUN };
    runtime.block_on(async {
        let Ok(mut asked) = signal(SignalKind::terminate()) else { return NOT_BEGUN };
        let places = engine::places(|name| std::env::var(name).ok());
        let mark = mark();
        let docker = tokio::select! {
            docker = engine::reach(&places) => docker,
            _ = asked.recv() => None,
        };
        let Some(docker) = docker else { return engine_away() };
        let tried = tokio::select! {
            tried = run(&docker, &order, command, &mark) => tried,
            // The check's timeout has passed, and the engine has no call that kills the command.
            _ = asked.recv() => {
                let answers = timeout(ANSWER, docker.ping()).await;
                ostler_os::kill_marked(&mark);
                return if let Ok(Ok(_)) = answers { NOT_BEGUN } else { engine_away() };
            }
        };
        ostler_os::kill_marked(&mark);
        match tried {
            Ok(code) => code,
            Err(Error::DockerResponseServerError { message, .. }) => {
                let _ = writeln!(std::io::stderr(), "ostler: {}", message.trim());
                NOT_BEGUN
            }
            Err(_) => engine_away(),
        }
    })
}

/// Exit code of an unknown result: a check that cannot run is not a failed check.
fn engine_away() -> i32 {
    let _ = writeln!(std::io::stderr(), "ostler: no container engine answers");
    ostler_model::CHECK_UNKNOWN
}

pub(crate) async fn run(
    docker: &Docker,
    order: &ContainerOrder,
    command: Vec<String>,
    mark: &str,
) -> Result<i32, Error> {
    let tried = tried(docker, order, command, mark).await;
    let is_away = !matches!(&tried, Ok(_) | Err(Error::DockerResponseServerError { .. }));
    if is_away || matches!(tried, Ok(0)) {
        return tried;
    }
    // If the container ended, was removed or paused meanwhile, the check has not failed. The command of a dying
    // container ends before the engine reports the container's end.
    let looks = if matches!(tried, Ok(code) if code < NOT_BEGUN) { 1 } else { LOOKS };
    for look in 0..looks {
        if look > 0 {
            sleep(LOOK_EVERY).await;
        }
        let found = ours::find(docker, order).await?;
        if !found.iter().any(|one| one.is_running && !one.is_paused) {
            return Ok(ostler_model::CHECK_UNKNOWN);
        }
    }
    tried
}

async fn tried(
    docker: &Docker,
    order: &ContainerOrder,
    command: Vec<String>,
    mark: &str,
) -> Result<i32, Error> {
    let found = ours::find(docker, order).await?;
    let Some(container) = found.into_iter().find(|one| one.is_running && !one.is_paused) else {
        // Not started yet, ended, or paused: the shim handles it, and the check has no result.
        let _ = writeln!(std::io::stderr(), "ostler: the container is not running");
        return Ok(ostler_model::CHECK_UNKNOWN);
    };
    let options = CreateExecOptions {
        cmd: Some(command),
        // Every process that the command starts inherits the mark, even if it leaves the process tree.
        env: Some(vec![mark.to_owned()]),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        ..CreateExecOptions::default()
    };
    let made = docker.create_exec(&container.id, options).await?;
    if let StartExecResults::Attached { mut output, .. } = docker.start_exec(&made.id, None).await?
    {
        while let Some(Ok(piece)) = output.next().await {
            let _ = std::io::stdout().write_all(&piece.into_bytes());
        }
    }
    // The end of the stream does not prove that the command has ended.
    let ended = loop {
        let found = docker.inspect_exec(&made.id).await?;
        if found.running != Some(true) {
            break found;
        }
        sleep(LOOK_EVERY).await;
    };
    Ok(ended.exit_code.unwrap_or(i64::from(NOT_BEGUN)) as i32)
}

pub(crate) fn mark() -> String {
    let random = ostler_os::random::<8>().unwrap_or_default();
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("OSTLER_CHECK={}-{hex}", std::process::id())
}
