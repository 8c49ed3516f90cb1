use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use crate::render;
use ostler_client::{Client, ClientError, greet};
use ostler_ops::daemon::{HandOver, Ping, Pong};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The new program has 15 s to answer, then the guardian starts the old one again.
const MOST_MS: u64 = 45_000;
const PATIENCE: Duration = Duration::from_secs(5);

/// Replaces the supervisor's program. Returns when a supervisor answers: the new program, or after a failure the old
/// one.
pub fn upgrade(context: &Context, path: Option<PathBuf>, json: bool) -> Result<Exit, Failure> {
    crate::versions::expect_another();
    let program = match path {
        Some(path) => std::path::absolute(path)?,
        None => std::env::current_exe()?,
    };
    check(&program)?;
    let mut client = context.connect_running()?;
    let before = client.call(&Ping::ours())?;
    hand_over(&mut client, Some(program.display().to_string()))?;
    let mut after = successor(context, &before)?;
    if after.went_back.is_none() && !ostler_os::executes(after.pid as i32, &program) {
        // The supervisor died during the handover, and the guardian restarted the old program.
        after.went_back = Some("the supervisor died before it could hand over".to_owned());
    }
    if json {
        outln!(
            "{}",
            json!({
                "upgraded": after.went_back.is_none(),
                "program": program.display().to_string(),
                "wentBack": after.went_back,
                "before": { "version": before.version, "supervisorPid": before.pid },
                "after": { "version": after.version, "supervisorPid": after.pid },
                "runs": after.live,
            })
        );
    }
    if let Some(why) = after.went_back {
        return Err(Failure::failed(anyhow::anyhow!(
            "{} did not answer: {why}; the old program continues (version {}, pid {})",
            program.display(),
            after.version,
            after.pid
        )));
    }
    if !json {
        let runs = render::count(after.live as usize, "run");
        let (old, new) = (&before.version, &after.version);
        outln!("{runs} kept; version {old} (pid {}) -> {new} (pid {})", before.pid, after.pid);
    }
    Ok(Exit::DONE)
}

/// Restarts the supervisor with the same program, so that it reads changed settings. Runs continue.
pub fn take_up_settings(context: &Context) -> Result<(), Failure> {
    let mut client = context.connect_running()?;
    let before = client.call(&Ping::ours())?;
    hand_over(&mut client, None)?;
    successor(context, &before).map(drop)
}

fn hand_over(client: &mut Client, program: Option<String>) -> Result<(), Failure> {
    match client.call(&HandOver { program }) {
        // The supervisor may exit before its response arrives.
        Ok(_) | Err(ClientError::Lost(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn check(program: &Path) -> Result<(), Failure> {
    let wrong = |why: String| Failure::failed(anyhow::anyhow!("{}: {why}", program.display()));
    let metadata = std::fs::metadata(program).map_err(|error| wrong(error.to_string()))?;
    if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
        return Err(wrong("is not an executable file".to_owned()));
    }
    Ok(())
}

fn successor(context: &Context, before: &Pong) -> Result<Pong, Failure> {
    let deadline = ostler_os::mono_ms() + MOST_MS;
    while ostler_os::mono_ms() < deadline {
        match greet(&context.home.sockets(), PATIENCE)? {
            Some((_, pong)) if pong.pid != before.pid => return Ok(pong),
            Some(_) | None => ostler_os::nap(Duration::from_millis(10)),
        }
    }
    Err(Failure::failed(anyhow::anyhow!(
        "no supervisor answers; see {}",
        context.home.path().join("crash.log").display()
    )))
}
