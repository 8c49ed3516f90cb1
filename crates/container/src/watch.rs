//! Waits until a container has ended. The engine reports events at once; the shim also polls every few seconds in case
//! an event is missing. An engine that does not answer changes nothing.

use crate::engine::PATIENCE;
use crate::follow::CopyPosition;
use crate::memory::Memory;
use bollard::Docker;
use bollard::errors::Error;
use bollard::query_parameters::{EventsOptions, InspectContainerOptions};
use futures_util::{Stream, StreamExt};
use std::cell::Cell;
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The polling interval, in addition to events.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// The container's last output may come after the event of its end.
const REST: Duration = Duration::from_secs(2);
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// How the container ended.
#[derive(Debug)]
pub(crate) enum End {
    Code {
        code: i32,
        is_out_of_memory: bool,
    },
    /// Another process removed the container.
    Gone,
    /// The container cannot be created with this specification: a retry would fail again.
    Refused(String),
    /// The engine could not create the container.
    Failed(String),
    /// The shim was stopped before there was a container.
    StopSignals,
    /// The container runs on and is no longer watched.
    Left,
}

/// `None` if the engine does not answer.
pub(crate) async fn until_ended(
    docker: &Docker,
    id: &str,
    place: &mut CopyPosition,
    memory: &Memory,
) -> Option<End> {
    let (is_over, rests) = (Cell::new(false), Cell::new(false));
    let mut followed = Box::pin(async {
        // A stream may end before its container does, for example after a log rotation.
        let mut pause = FIRST_PAUSE;
        loop {
            place.follow(docker).await;
            if is_over.get() {
                return;
            }
            rests.set(true);
            sleep(pause).await;
            rests.set(false);
            pause = (pause * 2).min(LOOK_EVERY);
        }
    });
    let end = tokio::select! {
        end = ended(docker, id, memory) => end,
        () = &mut followed => None,
    };
    is_over.set(true);
    match end {
        // The stream of an ended container ends by itself.
        Some(_) if !rests.get() => {
            let _ = timeout(REST, followed).await;
        }
        Some(End::Code { .. }) => {
            drop(followed);
            let _ = timeout(REST, place.follow(docker)).await;
        }
        Some(_) | None => {}
    }
    end
}

async fn ended(docker: &Docker, id: &str, memory: &Memory) -> Option<End> {
    let mut description = Box::pin(news(docker, id));
    let mut life = Life::default();
    let mut pause = FIRST_PAUSE;
    loop {
        let looked = look(docker, id, memory, &mut life).await;
        let patience = match looked {
            // Its end was reported, and the state follows soon.
            Inspection::Runs if life.code.is_some() => pause,
            Inspection::Runs => LOOK_EVERY,
            Inspection::Ending => pause,
            Inspection::Ended(end) => return Some(end),
            Inspection::Unknown => return None,
        };
        // The state is polled after any event.
        match timeout(patience, description.next()).await {
            Ok(Some(Ok(WatchEvent::Died(code)))) => life.code = code,
            Ok(Some(Ok(WatchEvent::Gone))) => {}
            Err(_) => pause = (pause * 2).min(LOOK_EVERY),
            // The stream failed or ended: subscribe again.
            Ok(Some(Err(_)) | None) => {
                sleep(pause.min(patience)).await;
                pause = (pause * 2).min(LOOK_EVERY);
                description = Box::pin(news(docker, id));
            }
        }
    }
}

enum WatchEvent {
    /// With its exit code, if the event has one.
    Died(Option<i32>),
    Gone,
}

/// The engine's events of the end of a container, from one second ago on, so that an end before the subscription is not
/// missed. The engine's `wait` call is not used: podman's uses a whole CPU while it waits.
fn news(docker: &Docker, id: &str) -> impl Stream<Item = Result<WatchEvent, Error>> {
    let since = jiff::Timestamp::now().as_second() - 1;
    let options = EventsOptions {
        since: Some(since.to_string()),
        until: None,
        filters: Some(HashMap::from([("container".to_owned(), vec![id.to_owned()])])),
    };
    docker.events(Some(options)).filter_map(|event| {
        std::future::ready(match event {
            Err(error) => Some(Err(error)),
            Ok(event) => match event.action.as_deref() {
                Some("die" | "died") => {
                    let description =
                        event.actor.and_then(|actor| actor.attributes).unwrap_or_default();
                    Some(Ok(WatchEvent::Died(
                        description.get("exitCode").and_then(|code| code.parse().ok()),
                    )))
                }
                Some("destroy" | "remove") => Some(Ok(WatchEvent::Gone)),
                Some(_) | None => None,
            },
        })
    })
}

enum Inspection {
    Runs,
    /// It has ended, and the engine has not cleaned it up yet: the exit code is unknown.
    Ending,
    Ended(End),
    Unknown,
}

/// One run of a container: if another process restarts it, its later exit code does not count.
#[derive(Default)]
struct Life {
    began: Option<String>,
    /// The exit code in the container engine's event.
    code: Option<i32>,
}

async fn look(docker: &Docker, id: &str, memory: &Memory, life: &mut Life) -> Inspection {
    let asked = docker.inspect_container(id, None::<InspectContainerOptions>);
    match timeout(PATIENCE, asked).await {
        Ok(Ok(found)) => {
            let Some(state) = found.state else { return Inspection::Unknown };
            let began = state.started_at.map(|at| at.to_string());
            let is_same = life.began.is_none() || life.began == began;
            if state.running == Some(true) && state.restarting != Some(true) && is_same {
                life.began = began;
                return Inspection::Runs;
            }
            let code = state.exit_code.unwrap_or(0) as i32;
            let code = if is_same { code } else { life.code.unwrap_or(code) };
            let said = state.oom_killed == Some(true);
            Inspection::Ended(End::Code { code, is_out_of_memory: memory.ended(code, said) })
        }
        Ok(Err(Error::DockerResponseServerError { status_code: 404, .. })) => {
            Inspection::Ended(End::Gone)
        }
        // Podman has a state for an ended container that is not cleaned up yet. The client library does not know it.
        Ok(Err(Error::JsonDataError { contents, .. })) => {
            let Some(code) = life.code.or_else(|| code_of_stopped(&contents)) else {
                return Inspection::Ending;
            };
            Inspection::Ended(End::Code { code, is_out_of_memory: memory.ended(code, false) })
        }
        Ok(Err(_)) | Err(_) => Inspection::Unknown,
    }
}

/// The exit code, if the answer contains the state `stopped`. Podman may never clean it up, so the shim does not wait
/// for that.
fn code_of_stopped(answer: &str) -> Option<i32> {
    let answer: serde_json::Value = serde_json::from_str(answer).ok()?;
    let state = &answer["State"];
    (state["Status"] == "stopped").then_some(())?;
    i32::try_from(state["ExitCode"].as_i64()?).ok()
}
