//! What operators ask about apps, for every face: one list of methods, one way to answer them.

use crate::beside::beside;
use crate::looks;
use crate::server::Shared;
use ostler_engine::{LogReader, OutputState, Piece, UnitAsk, Until, config_version};
use ostler_model::app_wire::{Fault, FaultCode};
use ostler_model::{
    Actor, AppPhase, AppSpec, AppStatus, AppUsage, Depth, UnitLook, UnitState, UnitView, Usage,
};
use ostler_ops::units::Look;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{broadcast, mpsc, oneshot};

/// How many lines `apps.logs` gives where none are asked for, and at most.
const LINES: u64 = 100;
const LINES_MOST: u64 = 10_000;
/// The most of a log that one answer holds.
const LOG_MOST: usize = 4 << 20;

/// The way in for a face that lives on another thread.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) calls: mpsc::UnboundedSender<GatewayCall>,
    pub(crate) topics: broadcast::Sender<Topic>,
}

pub(crate) enum GatewayCall {
    Operate {
        method: String,
        params: Value,
        by: Actor,
        reply: oneshot::Sender<Result<Value, Fault>>,
    },
    Metrics {
        reply: oneshot::Sender<Result<String, Fault>>,
    },
    Ping {
        reply: oneshot::Sender<()>,
    },
}

/// Something that subscribers are told.
#[derive(Clone, Debug)]
pub enum Topic {
    App(Box<AppStatus>),
}

impl Gateway {
    pub async fn call(&self, method: &str, params: Value, by: Actor) -> Result<Value, Fault> {
        let (reply, answer) = oneshot::channel();
        let call = GatewayCall::Operate { method: method.to_owned(), params, by, reply };
        let _ = self.calls.send(call);
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// The counters and every app, in the format that Prometheus reads.
    pub async fn metrics(&self) -> Result<String, Fault> {
        let (reply, answer) = oneshot::channel();
        let _ = self.calls.send(GatewayCall::Metrics { reply });
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Returns when the engine has answered, and whether it did.
    pub async fn ping(&self) -> bool {
        let (reply, answer) = oneshot::channel();
        let _ = self.calls.send(GatewayCall::Ping { reply });
        answer.await.is_ok()
    }

    pub fn subscribe(&self) -> broadcast::Receiver<Topic> {
        self.topics.subscribe()
    }
}

fn gone() -> Fault {
    Fault::new(FaultCode::InternalError, "the supervisor is stopping")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    package_id: String,
    #[serde(default)]
    lines: Option<u64>,
    #[serde(default)]
    wait: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Wanted {
    state: Option<AppPhase>,
    search: Option<String>,
}

pub(crate) async fn operate(
    method: &str,
    params: Value,
    by: Actor,
    shared: &Shared,
) -> Result<Value, Fault> {
    match method {
        "apps.list" => {
            let wanted: Wanted = if params.is_null() { Wanted::default() } else { read(params)? };
            let mut apps = statuses(shared, Depth::Whole).await;
            apps.retain(|app| wanted.state.is_none_or(|state| app.state == state));
            if let Some(text) = wanted.search {
                apps.retain(|app| app.package_id.contains(&text));
            }
            Ok(json!({ "apps": apps }))
        }
        "apps.info" => {
            let named: Named = read(params)?;
            let found = find(&named.package_id, shared).await?;
            let seen = look(shared, Depth::Whole).await;
            Ok(info(found, &seen, shared))
        }
        "apps.logs" => {
            let named: Named = read(params)?;
            let (view, _) = find(&named.package_id, shared).await?;
            let lines = named.lines.unwrap_or(LINES).min(LINES_MOST);
            Ok(json!({ "lines": logs(&view, lines, shared).await }))
        }
        "apps.start" => ask(params, UnitAsk::Start, by, shared).await,
        "apps.stop" => ask(params, UnitAsk::Stop, by, shared).await,
        "apps.restart" => ask(params, UnitAsk::Restart, by, shared).await,
        _ => Err(Fault::new(FaultCode::MethodNotFound, format!("there is no method {method:?}"))),
    }
}

pub(crate) fn read<T: serde::de::DeserializeOwned>(params: Value) -> Result<T, Fault> {
    // A list would be read as the fields in their order.
    if !params.is_object() {
        return Err(Fault::new(FaultCode::InvalidParams, "params: an object is needed"));
    }
    serde_json::from_value(params)
        .map_err(|bad| Fault::new(FaultCode::InvalidParams, format!("params: {bad}")))
}

/// Returns when it is so, unless the caller does not want to wait.
async fn ask(params: Value, ask: UnitAsk, by: Actor, shared: &Shared) -> Result<Value, Fault> {
    let named: Named = read(params)?;
    let (view, _) = find(&named.package_id, shared).await?;
    let names = vec![view.name];
    shared.engine.ask_units(names.clone(), ask, by);
    if named.wait == Some(false) {
        return Ok(json!({ "ok": true }));
    }
    let until = if ask == UnitAsk::Stop { Until::Stopped } else { Until::Settled };
    let Some(views) = shared.engine.await_units(names, until).await else {
        return Err(Fault::new(FaultCode::Conflict, "the supervisor is stopping".to_owned()));
    };
    match views.first() {
        Some(view) if until == Until::Settled && view.state != UnitState::Ready => {
            let told = format!("{}: {} ({})", named.package_id, view.state, view.why);
            Err(Fault::new(FaultCode::Conflict, told))
        }
        Some(_) | None => Ok(json!({ "ok": true })),
    }
}

/// By its id; or by its unit's name, where two units run the same app.
async fn find(id: &str, shared: &Shared) -> Result<(UnitView, Arc<AppSpec>), Fault> {
    let mut apps = shared.engine.app_views().await;
    let at = apps.iter().position(|(view, _)| view.name == id);
    let at = at.or_else(|| apps.iter().position(|(_, app)| app.id == id));
    match at {
        Some(at) => Ok(apps.swap_remove(at)),
        None => {
            let known: Vec<&str> = apps.iter().map(|(_, app)| app.id.as_str()).collect();
            let told = format!("there is no app {id:?}; there is: {}", known.join(", "));
            Err(Fault::new(FaultCode::NotFound, told))
        }
    }
}

async fn look(shared: &Shared, depth: Depth) -> HashMap<String, Usage> {
    let call = Look { names: Vec::new(), depth, brief: true };
    let usage = |look: UnitLook| Some((look.view.name, look.usage?));
    looks::look(call, shared).await.into_iter().flatten().filter_map(usage).collect()
}

pub(crate) async fn statuses(shared: &Shared, depth: Depth) -> Vec<AppStatus> {
    unit_statuses(shared, depth).await.into_iter().map(|(_, status)| status).collect()
}

/// With the names of the units, of which two may run the same app.
pub(crate) async fn unit_statuses(shared: &Shared, depth: Depth) -> Vec<(String, AppStatus)> {
    let apps = shared.engine.app_views().await;
    let seen = match depth {
        Depth::None => HashMap::new(),
        Depth::Quick | Depth::Whole | Depth::Tree => look(shared, depth).await,
    };
    let told = |(view, app): &(UnitView, Arc<AppSpec>)| {
        (view.name.clone(), status(view, app, seen.get(&view.name), shared))
    };
    apps.iter().map(told).collect()
}

fn status(view: &UnitView, app: &AppSpec, usage: Option<&Usage>, shared: &Shared) -> AppStatus {
    let vitals = view.run_id.and_then(|run| shared.engine.apps().get(run));
    AppStatus {
        package_id: app.id.clone(),
        state: phase(view),
        pid: view.pid,
        started_at: view.started_at_ms,
        restart_count: view.restarts,
        last_heartbeat: vitals.and_then(|vitals| vitals.last_beat_ms()),
        last_error: last_error(view),
        resource_usage: usage.map(|usage| AppUsage {
            memory_rss: usage.memory_bytes,
            cpu_percent: usage.cpu_percent,
        }),
    }
}

/// The one mapping of our states to the document's.
pub(crate) fn phase(view: &UnitView) -> AppPhase {
    match view.state {
        UnitState::Stopped | UnitState::Done | UnitState::Scheduled | UnitState::Suspended => {
            AppPhase::Stopped
        }
        UnitState::Waiting | UnitState::Queued | UnitState::Starting => AppPhase::Starting,
        // It runs, and is not well.
        UnitState::Ready if !view.why.is_empty() => AppPhase::Error,
        UnitState::Ready => AppPhase::Ready,
        UnitState::Stopping => AppPhase::Stopping,
        UnitState::Backoff | UnitState::Error => AppPhase::Error,
    }
}

fn last_error(view: &UnitView) -> Option<String> {
    match view.state {
        UnitState::Ready | UnitState::Backoff | UnitState::Error if !view.why.is_empty() => {
            Some(view.why.clone())
        }
        _ => view.ends.first().map(|end| end.told.clone()).filter(|told| told != "exit 0"),
    }
}

fn info(
    (view, app): (UnitView, Arc<AppSpec>),
    seen: &HashMap<String, Usage>,
    shared: &Shared,
) -> Value {
    let usage = seen.get(&view.name);
    let vitals = view.run_id.and_then(|run| shared.engine.apps().get(run));
    let mut told = json!(status(&view, &app, usage, shared));
    let more = json!({
        "unit": view.name,
        "why": view.why,
        "since": view.since_ms,
        "desired": view.desired,
        "manifest": app.manifest,
        "manifestPath": app.path,
        "config": app.config,
        "configVersion": config_version(&app.config),
        "health": vitals.and_then(|vitals| vitals.status()),
        "ends": view.ends,
        "usage": usage,
    });
    if let (Some(told), Value::Object(more)) = (told.as_object_mut(), more) {
        told.extend(more);
    }
    told
}

async fn logs(view: &UnitView, lines: u64, shared: &Shared) -> Vec<Value> {
    // An end that was asked for is not among its ends.
    let last = || shared.read(|reader| reader.runs_of(&view.name, 1)).ok()?.pop();
    let run = view.run_id.or_else(|| last().map(|record| record.run_id));
    let Some(run) = run else { return Vec::new() };
    let output = match shared.engine.attach(run).await {
        Some(attached) => attached.output,
        None => {
            let record = shared.read(|reader| reader.run(run)).ok().flatten();
            let bytes = record.map_or(0, |record| record.output_bytes);
            Arc::new(OutputState::of_ended(shared.home.run_folder(run), bytes))
        }
    };
    beside(move || last_lines(output, lines)).await.unwrap_or_default()
}

/// What is written of each stream, in the order it came, cut into lines.
fn last_lines(output: Arc<OutputState>, lines: u64) -> Vec<Value> {
    let mut reader = LogReader::new(output);
    let mut offset = reader.lines_before_end(lines).unwrap_or(0);
    let (mut found, mut held, mut read) = (Vec::new(), Vec::new(), 0);
    let mut of_stderr = false;
    let close = |held: &mut Vec<u8>, of_stderr: bool, found: &mut Vec<Value>| {
        if !held.is_empty() {
            let text = String::from_utf8_lossy(held).trim_end_matches(['\r', '\n']).to_owned();
            let stream = if of_stderr { "stderr" } else { "stdout" };
            found.push(json!({ "stream": stream, "text": text }));
            held.clear();
        }
    };
    while read < LOG_MOST {
        match reader.next(offset) {
            Ok(Piece::Bytes { bytes, is_stderr, offset: at, .. }) => {
                if is_stderr != of_stderr {
                    close(&mut held, of_stderr, &mut found);
                    of_stderr = is_stderr;
                }
                offset = at + bytes.len() as u64;
                read += bytes.len();
                for part in bytes.split_inclusive(|byte| *byte == b'\n') {
                    held.extend_from_slice(part);
                    if part.ends_with(b"\n") {
                        close(&mut held, of_stderr, &mut found);
                    }
                }
            }
            Ok(Piece::Gap { to, .. }) => offset = to,
            Ok(Piece::CaughtUp) | Err(_) => break,
        }
    }
    close(&mut held, of_stderr, &mut found);
    let excess = found.len().saturating_sub(lines as usize);
    found.drain(..excess);
    found
}
