//! A command inside a unit's container, as a check. It ends with the command's own code, and leaves nothing behind.

use crate::engine;
use crate::ours;
use bollard::Docker;
use bollard::exec::{CreateExecOptions, StartExecResults};
use futures_util::StreamExt;
use ostler_model::ContainerOrder;
use std::io::Write;
use tokio::signal::unix::{SignalKind, signal};

/// As a shell has it for what could not be begun.
const NOT_BEGUN: i32 = 126;

pub fn exec(command: Vec<String>) -> i32 {
    let text = std::env::var(ContainerOrder::VARIABLE).unwrap_or_default();
    let Ok(order) = serde_json::from_str::<ContainerOrder>(&text) else { return NOT_BEGUN };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return NOT_BEGUN };
    runtime.block_on(async {
        let places = engine::places(|name| std::env::var(name).ok());
        let Some(docker) = engine::reach(&places).await else { return engine_away() };
        match run(&docker, &order, command).await {
            Ok(code) => code,
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "ostler: {error}");
                NOT_BEGUN
            }
        }
    })
}

/// Nothing is known of the container then: a check that cannot be made is none that failed.
fn engine_away() -> i32 {
    let _ = writeln!(std::io::stderr(), "ostler: no container engine answers");
    ostler_model::CHECK_UNKNOWN
}

async fn run(
    docker: &Docker,
    order: &ContainerOrder,
    command: Vec<String>,
) -> Result<i32, bollard::errors::Error> {
    let found = ours::find(docker, order).await?;
    let Some(container) = found.into_iter().find(|one| one.is_running) else {
        let _ = writeln!(std::io::stderr(), "ostler: the container does not run");
        return Ok(NOT_BEGUN);
    };
    let options = CreateExecOptions {
        cmd: Some(command),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        ..CreateExecOptions::default()
    };
    let made = docker.create_exec(&container.id, options).await?;
    let mut asked = signal(SignalKind::terminate())?;
    let started = docker.start_exec(&made.id, None).await?;
    let followed = async {
        if let StartExecResults::Attached { mut output, .. } = started {
            while let Some(Ok(piece)) = output.next().await {
                let _ = std::io::stdout().write_all(&piece.into_bytes());
            }
        }
    };
    tokio::select! {
        () = followed => {}
        // It is over time. The engine knows no way to end it, but it knows its process.
        _ = asked.recv() => {
            let found = docker.inspect_exec(&made.id).await?;
            if let Some(pid) = found.pid.filter(|_| found.running == Some(true)) {
                ostler_os::kill_family(pid as i32);
            }
            return Ok(NOT_BEGUN);
        }
    }
    let ended = docker.inspect_exec(&made.id).await?;
    Ok(ended.exit_code.unwrap_or(i64::from(NOT_BEGUN)) as i32)
}
