//! The shim: the process of a run that keeps a container.
//!
//! ```text
//!   connect to the engine ──► adopt or create ──► follow ──► it ended ──► remove it, exit with its exit code
//!          ▲                                         │
//!          └───────── the engine went away ──────────┘
//! ```
//!
//! If the engine goes away, the container runs on. The shim reconnects to the engine, finds its container by id, and
//! continues where it was. It ends only when the engine reports the container's end, never because the engine does not
//! answer.
//!
//! When the shim is asked to stop, it sends the container's stop signal, waits for the grace period, kills the
//! container, and removes it. If the shim is killed, the container runs on; the unit's next shim adopts it, or `sweep`
//! removes it.
//!
//! A container that was removed from the list of agents runs on without its unit. The supervisor writes the leave note
//! and stops the shim, which leaves the container running. From then on another shim (`keep_left`) keeps it: that shim
//! creates nothing, and ends the container as any shim does, so `down` and `stop` leave nothing behind.

use crate::engine::{self, PATIENCE};
use crate::follow::CopyPosition;
use crate::made_note;
use crate::memory::Memory;
use crate::ours;
use crate::sd_notify::ShimNotify;
use crate::service;
use crate::start::begin;
use crate::watch::{End, until_ended};
use bollard::Docker;
use bollard::query_parameters::KillContainerOptions;
use ostler_model::{ContainerEnd, ContainerEndKind, ContainerOrder};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{sleep, timeout};

/// Exit code: a retry would fail again.
const CONFIG: i32 = 78;
const GONE: i32 = 1;
/// The time for removing the rest: the engine may need long for a container that does not stop.
const SWEEP: Duration = Duration::from_secs(60);
/// The pause before a failed sweep is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// How long a sweep waits for a container whose creation was not confirmed.
const LATE: Duration = Duration::from_secs(30);
/// The pause between calls to an engine that answers only some of them.
const BETWEEN: Duration = Duration::from_millis(200);

fn order() -> Result<ContainerOrder, String> {
    let text = std::env::var(ContainerOrder::VARIABLE)
        .map_err(|_| format!("{} is not set", ContainerOrder::VARIABLE))?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// The owner of a shim's container.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShimFor {
    Unit,
    /// None: the container was removed from the list of agents.
    Nobody,
}

/// Keeps the container that the environment describes. Returns the exit code. If a signal killed the container, this
/// process ends by the same signal.
pub fn keep() -> i32 {
    kept(ShimFor::Unit)
}

/// Like `keep`, for a container that was removed from the list of agents and has no unit: it is never created again.
pub fn keep_left() -> i32 {
    kept(ShimFor::Nobody)
}

fn kept(of: ShimFor) -> i32 {
    let order = match order() {
        Ok(order) => order,
        Err(error) => {
            notify(&format!("invalid container description: {error}"));
            return CONFIG;
        }
    };
    let Ok(runtime) = runtime() else { return GONE };
    let end = runtime.block_on(live(&order, of));
    let note = |kind, why: String| {
        notify(&why);
        let note = ContainerEnd { run: order.run.clone(), kind, why };
        let text = serde_json::to_vec(&note).unwrap_or_default();
        let _ = std::fs::write(order.end_note(), text);
    };
    match end {
        End::Code { code, is_out_of_memory } => {
            if is_out_of_memory {
                let why = "the kernel killed the container: out of memory".to_owned();
                note(ContainerEndKind::OutOfMemory, why);
            }
            if (129..=192).contains(&code) {
                ostler_os::end_by_signal(code - 128);
            }
            code
        }
        End::Gone => {
            let why = "another process removed its container".to_owned();
            note(ContainerEndKind::Removed, why);
            GONE
        }
        End::Refused(why) => {
            note(ContainerEndKind::Refused, why);
            CONFIG
        }
        End::Failed(why) => {
            note(ContainerEndKind::Failed, why);
            GONE
        }
        End::StopSignals => 0,
        End::Left => {
            let why = "no longer in the list of agents; its container runs on".to_owned();
            note(ContainerEndKind::Left, why);
            0
        }
    }
}

/// Removes all containers of a unit.
pub fn sweep() -> i32 {
    let (Ok(order), Ok(runtime)) = (order(), runtime()) else { return CONFIG };
    runtime.block_on(async {
        let mut places = engine::places(|name| std::env::var(name).ok());
        let mut served = None;
        let began = tokio::time::Instant::now();
        loop {
            let Some(docker) = engine::reach(&places).await else {
                if served.is_none() {
                    served = service::for_a_sweep(&places);
                    places.extend(served.clone());
                }
                sleep(AGAIN).await;
                continue;
            };
            match timeout(SWEEP, made_note::clear(&docker, &order)).await {
                // A slow engine may still create it.
                Ok(Ok(())) if made_note::is_asked_for(&order) && began.elapsed() < LATE => {
                    sleep(BETWEEN).await;
                }
                Ok(Ok(())) => break,
                Ok(Err(_)) | Err(_) => sleep(AGAIN).await,
            }
        }
        forget(&order);
        served.as_deref().map(service::forget);
    });
    0
}

fn notify(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "ostler: {text}");
}

struct StopSignals {
    term: Signal,
    int: Signal,
    quit: Signal,
}

impl StopSignals {
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

async fn live(order: &ContainerOrder, of: ShimFor) -> End {
    let words = ShimNotify::open(|name| std::env::var(name).ok());
    // The note was for the previous shim.
    let _ = std::fs::remove_file(order.leave_note());
    if let Some(why) = &order.spec.broken {
        return End::Refused(why.clone());
    }
    if of == ShimFor::Unit && crate::listed::is_unlisted(order) {
        made_note::leave(order);
        return End::Refused("no longer in the list of agents".to_owned());
    }
    let places = engine::places(|name| std::env::var(name).ok());
    let Ok(mut asked) = StopSignals::listen() else {
        return End::Refused("signal error".to_owned());
    };
    let away = |why: String| {
        notify(&format!("{why}; waiting for it"));
        words.say(&format!("STATUS=unknown, deferred: {why}"));
    };
    let docker = tokio::select! {
        docker = engine::until_reached(&places, away) => docker,
        () = asked.come() => return End::StopSignals,
    };
    let id = match of {
        ShimFor::Unit => match made_for(&docker, order, &words).await {
            Ok(id) => id,
            Err(end) => return end,
        },
        ShimFor::Nobody => match still_there(&docker, order, &mut asked).await {
            Some(id) => id,
            None => return End::StopSignals,
        },
    };
    let mut place = CopyPosition::of(&id, &order.place_note());
    let memory = Memory::watch(&docker, &id).await;
    if of == ShimFor::Unit
        && let Some(why) = crate::scripts::missing(&docker, order).await
    {
        remove(&docker, &id, order).await;
        return End::Refused(why);
    }
    words.report_ready(&id);
    let mut docker = docker;
    let mut is_asked = false;
    loop {
        let end = if is_asked {
            if is_to_leave(order) {
                made_note::leave(order);
                return End::Left;
            }
            words.say("STOPPING=1");
            stop(&docker, &id, order, &mut place, &memory).await
        } else {
            tokio::select! {
                end = until_ended(&docker, &id, &mut place, &memory) => end,
                () = asked.come() => {
                    is_asked = true;
                    continue;
                }
                () = words.until_another_listens() => {
                    words.report_ready(&id);
                    continue;
                }
            }
        };
        if let Some(end) = end {
            remove(&docker, &id, order).await;
            return end;
        }
        sleep(BETWEEN).await;
        // The engine went away. The container runs on.
        let away = |why: String| {
            notify(&format!("{why}; the container runs on"));
            words.say(&format!("STATUS=unknown, deferred: {why}"));
        };
        docker = tokio::select! {
            docker = engine::until_reached(&places, away) => docker,
            () = asked.come(), if !is_asked => {
                is_asked = true;
                // Without the engine nothing can be done to it, and a container to be left needs nothing.
                if is_to_leave(order) { continue }
                engine::until_reached(&places, |_| {}).await
            }
        };
        words.say(&format!("STATUS=container {id}"));
    }
}

/// Only the supervisor knows whether the unit was removed from the list or should stop.
fn is_to_leave(order: &ContainerOrder) -> bool {
    std::path::Path::new(&order.leave_note()).exists()
}

/// The id of the running container, or of a new one.
async fn made_for(
    docker: &Docker,
    order: &ContainerOrder,
    words: &ShimNotify,
) -> Result<String, End> {
    if let Err(error) = made_note::begin(order) {
        return Err(End::Failed(format!("{}: {error}", order.made_note())));
    }
    match begin(docker, order, words).await {
        Ok(id) => {
            let _ = made_note::own(order, &id);
            Ok(id)
        }
        Err(end) => {
            // What cannot be removed in time is left to the supervisor, which finds it by the note.
            if let Ok(Ok(())) = timeout(PATIENCE, made_note::clear(docker, order)).await {
                forget(order);
            }
            Err(end)
        }
    }
}

/// The id of a container that was removed from the list, if it runs. If it has ended, it is removed.
async fn still_there(
    docker: &Docker,
    order: &ContainerOrder,
    asked: &mut StopSignals,
) -> Option<String> {
    loop {
        if let Ok(Ok(found)) = timeout(PATIENCE, ours::find(docker, order)).await {
            if let Some(one) = found.iter().find(|one| one.is_running) {
                return Some(one.id.clone());
            }
            if let Ok(Ok(())) = timeout(PATIENCE, made_note::clear(docker, order)).await {
                forget(order);
                return None;
            }
        }
        tokio::select! {
            () = sleep(AGAIN) => {}
            // The supervisor sweeps by the note.
            () = asked.come() => return None,
        }
    }
}

/// Removes the container and its notes.
async fn remove(docker: &Docker, id: &str, order: &ContainerOrder) {
    if let Ok(Ok(())) = timeout(PATIENCE, ours::remove(docker, id)).await {
        forget(order);
    }
}

fn forget(order: &ContainerOrder) {
    let _ = std::fs::remove_file(order.place_note());
    made_note::forget(order);
}

/// Sends the stop signal, waits for the grace period, and sends SIGKILL. `None` if the engine does not answer.
async fn stop(
    docker: &Docker,
    id: &str,
    order: &ContainerOrder,
    place: &mut CopyPosition,
    memory: &Memory,
) -> Option<End> {
    let kill = async |signal: String| {
        let signal = Some(KillContainerOptions { signal });
        if docker.kill_container(id, signal.clone()).await.is_err() {
            // A paused container does not handle signals.
            let _ = docker.unpause_container(id).await;
            let _ = docker.kill_container(id, signal).await;
        }
    };
    let _ = timeout(PATIENCE, kill(order.stop_signal.to_string())).await;
    let grace = Duration::from_millis(order.grace_ms);
    match timeout(grace, until_ended(docker, id, place, memory)).await {
        Ok(end) => end,
        Err(_) => {
            let _ = timeout(PATIENCE, kill("SIGKILL".to_owned())).await;
            until_ended(docker, id, place, memory).await
        }
    }
}
