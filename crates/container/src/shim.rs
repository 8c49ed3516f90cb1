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
//!
//! A container that left the list of agents runs on without its unit. The supervisor writes the leave note and ends the
//! shim, which leaves the container. Another shim (`keep_left`) stands for it from then on: it makes nothing, and ends it
//! as any shim does, so `down` and `stop` leave nothing behind.

use crate::engine::{self, PATIENCE};
use crate::follow::Place;
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

/// The same again would fail again.
const CONFIG: i32 = 78;
const GONE: i32 = 1;
/// To remove what is left; the engine may take its time for one that does not want to end.
const SWEEP: Duration = Duration::from_secs(60);
/// Before a sweep that failed is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// How long one that was asked for is waited for, to be removed.
const LATE: Duration = Duration::from_secs(30);
/// An engine that answers to some questions only is not asked without a pause.
const BETWEEN: Duration = Duration::from_millis(200);

fn order() -> Result<ContainerOrder, String> {
    let text = std::env::var(ContainerOrder::VARIABLE)
        .map_err(|_| format!("{} is not set", ContainerOrder::VARIABLE))?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// Whose container a shim stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShimFor {
    Unit,
    /// One that left the list of agents.
    Nobody,
}

/// Keeps the container that the environment describes. Returns the exit code to end with; where it was ended by a signal,
/// this process is ended by the same.
pub fn keep() -> i32 {
    kept(ShimFor::Unit)
}

/// The same for a container that left the list of agents and has no unit any more: it is not made anew.
pub fn keep_left() -> i32 {
    kept(ShimFor::Nobody)
}

fn kept(of: ShimFor) -> i32 {
    let order = match order() {
        Ok(order) => order,
        Err(error) => {
            notify(&format!("no container is described: {error}"));
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
                let why = "the kernel killed the container for want of memory".to_owned();
                note(ContainerEndKind::OutOfMemory, why);
            }
            if (129..=192).contains(&code) {
                ostler_os::end_by_signal(code - 128);
            }
            code
        }
        End::Gone => {
            let why = "its container was removed by somebody else".to_owned();
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
        End::Asked => 0,
        End::Left => {
            let why = "it is no longer in the list of agents; its container runs on".to_owned();
            note(ContainerEndKind::Left, why);
            0
        }
    }
}

/// Removes whatever is left of a unit's containers.
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
                // An engine that was slow to make it may do so yet.
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

async fn live(order: &ContainerOrder, of: ShimFor) -> End {
    let words = ShimNotify::open(|name| std::env::var(name).ok());
    // It was meant for the shim before this one.
    let _ = std::fs::remove_file(order.leave_note());
    if let Some(why) = &order.spec.broken {
        return End::Refused(why.clone());
    }
    if of == ShimFor::Unit && crate::listed::is_unlisted(order) {
        made_note::leave(order);
        return End::Refused("it is no longer in the list of agents".to_owned());
    }
    let places = engine::places(|name| std::env::var(name).ok());
    let Ok(mut asked) = Asked::listen() else { return End::Refused("no signals".to_owned()) };
    let away = |why: String| {
        notify(&format!("{why}; it is waited for"));
        words.say(&format!("STATUS=unknown, deferred: {why}"));
    };
    let docker = tokio::select! {
        docker = engine::until_reached(&places, away) => docker,
        () = asked.come() => return End::Asked,
    };
    let id = match of {
        ShimFor::Unit => match made_for(&docker, order, &words).await {
            Ok(id) => id,
            Err(end) => return end,
        },
        ShimFor::Nobody => match still_there(&docker, order, &mut asked).await {
            Some(id) => id,
            None => return End::Asked,
        },
    };
    let mut place = Place::of(&id, &order.place_note());
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
        // The engine has gone. The container goes on.
        let away = |why: String| {
            notify(&format!("{why}; the container goes on"));
            words.say(&format!("STATUS=unknown, deferred: {why}"));
        };
        docker = tokio::select! {
            docker = engine::until_reached(&places, away) => docker,
            () = asked.come(), if !is_asked => {
                is_asked = true;
                // Nothing can be done to it without its engine, and one that is to be left needs nothing.
                if is_to_leave(order) { continue }
                engine::until_reached(&places, |_| {}).await
            }
        };
        words.say(&format!("STATUS=container {id}"));
    }
}

/// Only the supervisor knows whether it is ended because it left the list, or because somebody wants its end.
fn is_to_leave(order: &ContainerOrder) -> bool {
    std::path::Path::new(&order.leave_note()).exists()
}

/// The one that runs already, or a new one. Its id.
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
            // What is not done in time is left to the supervisor, which knows by the note.
            if let Ok(Ok(())) = timeout(PATIENCE, made_note::clear(docker, order)).await {
                forget(order);
            }
            Err(end)
        }
    }
}

/// One that left the list, if it runs. What of it has ended is removed.
async fn still_there(docker: &Docker, order: &ContainerOrder, asked: &mut Asked) -> Option<String> {
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

/// With what was kept of it.
async fn remove(docker: &Docker, id: &str, order: &ContainerOrder) {
    if let Ok(Ok(())) = timeout(PATIENCE, ours::remove(docker, id)).await {
        forget(order);
    }
}

fn forget(order: &ContainerOrder) {
    let _ = std::fs::remove_file(order.place_note());
    made_note::forget(order);
}

/// Its signal, its grace, then KILL. `None` if the engine does not answer.
async fn stop(
    docker: &Docker,
    id: &str,
    order: &ContainerOrder,
    place: &mut Place,
    memory: &Memory,
) -> Option<End> {
    let kill = async |signal: String| {
        let signal = Some(KillContainerOptions { signal });
        if docker.kill_container(id, signal.clone()).await.is_err() {
            // One that is halted does not hear.
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
