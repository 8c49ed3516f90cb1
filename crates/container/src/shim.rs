//! The shim's life.
//!
//! ```text
//!   reach the engine ──► take up ours, or make one ──► follow ──► it ended ──► remove it, end as it did
//!          ▲                                              │
//!          └────────────── the engine went away ──────────┘
//! ```
//!
//! The engine went away: the container goes on without it. The shim looks for the engine again, then for its container
//! by id, and goes on where it was. It ends only for what the engine says of the container, never for its silence.
//!
//! Somebody ends the shim: the container is asked to end, has its grace, and is removed. If the shim is killed, the
//! container goes on; the next shim of this unit takes it up, and `sweep` removes it where there is none.

use crate::engine::{self, PATIENCE};
use crate::follow::Place;
use crate::words::Words;
use crate::{make, ours};
use bollard::Docker;
use bollard::errors::Error;
use bollard::query_parameters::{InspectContainerOptions, KillContainerOptions};
use ostler_model::ContainerOrder;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{sleep, timeout};

/// The same again would fail again.
const CONFIG: i32 = 78;
const GONE: i32 = 1;

/// How it ended.
enum End {
    Code(i32),
    /// Somebody removed it.
    Gone,
    /// It cannot be made as it is declared.
    Refused(String),
    /// We were told to end before there was anything to end.
    Asked,
}

fn order() -> Result<ContainerOrder, String> {
    let text = std::env::var(ContainerOrder::VARIABLE)
        .map_err(|_| format!("{} is not set", ContainerOrder::VARIABLE))?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// Keeps the container that the environment describes. Returns the exit code to end with; where it was ended by a signal,
/// this process is ended by the same.
pub fn keep() -> i32 {
    let order = match order() {
        Ok(order) => order,
        Err(error) => {
            tell(&format!("no container is described: {error}"));
            return CONFIG;
        }
    };
    let Ok(runtime) = runtime() else { return GONE };
    let end = runtime.block_on(live(&order));
    match end {
        End::Code(code) if (129..=192).contains(&code) => {
            ostler_os::end_by_signal(code - 128);
            code
        }
        End::Code(code) => code,
        End::Gone => {
            tell("the container was removed by somebody else");
            GONE
        }
        End::Refused(why) => {
            tell(&why);
            CONFIG
        }
        End::Asked => 0,
    }
}

/// Removes whatever is left of a unit's containers.
pub fn sweep() -> i32 {
    let (Ok(order), Ok(runtime)) = (order(), runtime()) else { return CONFIG };
    runtime.block_on(async {
        let places = engine::places(|name| std::env::var(name).ok());
        loop {
            let docker = engine::until_reached(&places, |why| tell(&why)).await;
            let swept = async {
                for one in ours::find(&docker, &order).await? {
                    ours::remove(&docker, &one.id).await?;
                }
                Ok::<(), Error>(())
            };
            match swept.await {
                Ok(()) => return 0,
                Err(_) => sleep(PATIENCE).await,
            }
        }
    })
}

fn tell(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "ostler: {text}");
}

struct Asked {
    term: Signal,
    int: Signal,
    quit: Signal,
}

impl Asked {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
        })
    }

    async fn come(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.int.recv() => {}
            _ = self.quit.recv() => {}
        }
    }
}

async fn live(order: &ContainerOrder) -> End {
    let words = Words::open(|name| std::env::var(name).ok());
    let places = engine::places(|name| std::env::var(name).ok());
    let Ok(mut asked) = Asked::listen() else { return End::Refused("no signals".to_owned()) };
    let away = |why: String| {
        tell(&format!("{why}; it is waited for"));
        words.say(&format!("STATUS=unknown, deferred: {why}"));
    };
    let docker = tokio::select! {
        docker = engine::until_reached(&places, away) => docker,
        () = asked.come() => return End::Asked,
    };
    let (id, mut place) = match begin(&docker, order).await {
        Ok(begun) => begun,
        Err(end) => return end,
    };
    words.say(&format!("READY=1\nSTATUS=container {id}"));
    let mut docker = docker;
    let mut is_asked = false;
    loop {
        let ended = until_ended(&docker, &id, &mut place);
        let end = tokio::select! {
            end = ended => end,
            () = asked.come(), if !is_asked => {
                is_asked = true;
                words.say("STOPPING=1");
                None
            }
        };
        if let Some(end) = end {
            let _ = timeout(PATIENCE, ours::remove(&docker, &id)).await;
            return end;
        }
        if is_asked {
            if let Some(end) = stop(&docker, &id, order, &mut place).await {
                return end;
            }
            continue;
        }
        // The engine has gone. The container goes on.
        let away = |why: String| {
            tell(&format!("{why}; the container goes on"));
            words.say(&format!("STATUS=unknown, deferred: {why}"));
        };
        docker = tokio::select! {
            docker = engine::until_reached(&places, away) => docker,
            () = asked.come() => {
                is_asked = true;
                engine::until_reached(&places, |_| {}).await
            }
        };
        words.say(&format!("STATUS=container {id}"));
    }
}

/// The one that runs already, or a new one.
async fn begin(docker: &Docker, order: &ContainerOrder) -> Result<(String, Place), End> {
    let mut pause = Duration::from_millis(100);
    loop {
        let tried = async {
            for found in ours::find(docker, order).await? {
                if found.is_running && found.is_same {
                    return Ok((found.id, Place::now()));
                }
                ours::remove(docker, &found.id).await?;
            }
            Ok((make::make(docker, order).await?, Place::default()))
        };
        match tried.await {
            Ok(begun) => return Ok(begun),
            Err(Error::DockerResponseServerError { status_code, message })
                if (400..500).contains(&status_code) =>
            {
                return Err(End::Refused(refusal(order, status_code, &message)));
            }
            // Busy, or on its way out: asked again, because nothing is known of it.
            Err(error) => {
                tell(&format!("the engine did not make it yet: {error}"));
                sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(5));
            }
        }
    }
}

fn refusal(order: &ContainerOrder, status: u16, message: &str) -> String {
    let message = message.trim();
    match status {
        404 => format!("{message}; is the image {:?} there? pull it first", order.spec.image),
        409 => format!("{message}; the name {:?} is another's: give it another", order.spec.name),
        _ => message.to_owned(),
    }
}

/// `None` if the engine went away.
async fn until_ended(docker: &Docker, id: &str, place: &mut Place) -> Option<End> {
    place.follow(docker, id).await;
    // The stream ends with the container, with the engine, or because a log was turned over.
    loop {
        let looked = docker.inspect_container(id, None::<InspectContainerOptions>);
        match timeout(PATIENCE, looked).await {
            Ok(Ok(found)) => {
                let state = found.state?;
                if state.running == Some(true) || state.restarting == Some(true) {
                    sleep(Duration::from_millis(100)).await;
                    place.follow(docker, id).await;
                    continue;
                }
                if state.oom_killed == Some(true) {
                    tell("the container was killed for want of memory");
                }
                return Some(End::Code(state.exit_code.unwrap_or(0) as i32));
            }
            Ok(Err(Error::DockerResponseServerError { status_code: 404, .. })) => {
                return Some(End::Gone);
            }
            Ok(Err(_)) | Err(_) => return None,
        }
    }
}

/// Its signal, its grace, then KILL.
async fn stop(docker: &Docker, id: &str, order: &ContainerOrder, place: &mut Place) -> Option<End> {
    let kill = |signal: String| docker.kill_container(id, Some(KillContainerOptions { signal }));
    let _ = timeout(PATIENCE, kill(order.stop_signal.to_string())).await;
    let grace = Duration::from_millis(order.grace_ms);
    let end = match timeout(grace, until_ended(docker, id, place)).await {
        Ok(end) => end,
        Err(_) => {
            let _ = timeout(PATIENCE, kill("SIGKILL".to_owned())).await;
            until_ended(docker, id, place).await
        }
    };
    if end.is_some() {
        let _ = timeout(PATIENCE, ours::remove(docker, id)).await;
    }
    end
}
