//! Apps: units with a manifest that use the app socket.

use super::dispatch::Handle;
use crate::background::beside;
use crate::find::{error, stopping};
use crate::server::Shared;
use crate::usage;
use ostler_engine::{LogReader, OutputState, Piece, UnitAsk, WaitCondition, config_version};
use ostler_model::{
    Actor, AppPhase, AppSpec, AppStatus, AppUsage, Depth, UnitLook, UnitState, UnitView, Usage,
};
use ostler_ops::apps::{
    Accepted, AppInfo, AppLine, AppLog, AppStream, Apps, Info, List, Logs, Restart, Start, Stop,
};
use ostler_ops::units::Look;
use ostler_ops::wire::{ErrorCode, WireError};
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;

const LINES: u64 = 100;
const LINES_MOST: u64 = 10_000;
/// Maximum size of the log in one answer.
const LOG_MOST: usize = 4 << 20;

impl Handle for List {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Apps, WireError> {
        let mut apps = statuses(shared, Depth::Whole).await;
        apps.retain(|app| self.state.is_none_or(|state| app.state == state));
        if let Some(text) = self.search {
            apps.retain(|app| app.package_id.contains(&text));
        }
        Ok(Apps { apps })
    }
}

impl Handle for Info {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<AppInfo, WireError> {
        let (view, app) = find(&self.package_id, shared).await?;
        let mut seen = look(shared, Depth::Whole).await;
        let usage = seen.remove(&view.name);
        let report = view.run_id.and_then(|run| shared.engine.apps().get(run));
        Ok(AppInfo {
            status: status(&view, &app, usage.as_ref(), shared),
            unit: view.name,
            why: view.why,
            since: view.since_ms,
            desired: view.desired,
            manifest: app.manifest.clone(),
            manifest_path: app.path.clone(),
            config: app.config.clone(),
            config_version: config_version(&app.config),
            health: json!(report.and_then(|report| report.status())),
            ends: view.ends,
            usage,
        })
    }
}

impl Handle for Logs {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<AppLog, WireError> {
        let (view, _) = find(&self.package_id, shared).await?;
        let lines = self.lines.unwrap_or(LINES).min(LINES_MOST);
        Ok(AppLog { lines: logs(&view, lines, shared).await })
    }
}

impl Handle for Start {
    async fn handle(self, by: Actor, shared: &Shared) -> Result<Accepted, WireError> {
        ask(&self.package_id, self.wait, UnitAsk::Start, by, shared).await
    }
}

impl Handle for Stop {
    async fn handle(self, by: Actor, shared: &Shared) -> Result<Accepted, WireError> {
        ask(&self.package_id, self.wait, UnitAsk::Stop, by, shared).await
    }
}

impl Handle for Restart {
    async fn handle(self, by: Actor, shared: &Shared) -> Result<Accepted, WireError> {
        ask(&self.package_id, self.wait, UnitAsk::Restart, by, shared).await
    }
}

/// Returns when the operation is complete, unless the caller does not want to wait.
async fn ask(
    id: &str,
    wait: Option<bool>,
    ask: UnitAsk,
    by: Actor,
    shared: &Shared,
) -> Result<Accepted, WireError> {
    let (view, _) = find(id, shared).await?;
    let names = vec![view.name];
    shared.engine.ask_units(names.clone(), ask, by).await.ok_or_else(stopping)?;
    if wait == Some(false) {
        return Ok(Accepted { ok: true });
    }
    let until = if ask == UnitAsk::Stop { WaitCondition::Stopped } else { WaitCondition::Settled };
    let views = shared.engine.await_units(names, until).await.ok_or_else(stopping)?;
    match views.first() {
        Some(view) if until == WaitCondition::Settled && view.state != UnitState::Ready => {
            let description = format!("{id}: {} ({})", view.state, view.why);
            Err(error(ErrorCode::Conflict, description))
        }
        Some(_) | None => Ok(Accepted { ok: true }),
    }
}

/// Finds an app by its id, or by its unit's name if two units run the same app.
async fn find(id: &str, shared: &Shared) -> Result<(UnitView, Arc<AppSpec>), WireError> {
    let mut apps = shared.engine.app_views().await;
    let at = apps.iter().position(|(view, _)| view.name == id);
    let at = at.or_else(|| apps.iter().position(|(_, app)| app.id == id));
    match at {
        Some(at) => Ok(apps.swap_remove(at)),
        None => {
            let known: Vec<&str> = apps.iter().map(|(_, app)| app.id.as_str()).collect();
            let description = format!("there is no app {id:?}; known apps: {}", known.join(", "));
            Err(error(ErrorCode::NotFound, description))
        }
    }
}

async fn look(shared: &Shared, depth: Depth) -> HashMap<String, Usage> {
    let call = Look { names: Vec::new(), depth, brief: true };
    let usage = |look: UnitLook| Some((look.view.name, look.usage?));
    usage::look(call, shared).await.into_iter().flatten().filter_map(usage).collect()
}

pub(crate) async fn statuses(shared: &Shared, depth: Depth) -> Vec<AppStatus> {
    unit_statuses(shared, depth).await.into_iter().map(|(_, status)| status).collect()
}

/// The status of each app with the name of its unit; two units may run the same app.
pub(crate) async fn unit_statuses(shared: &Shared, depth: Depth) -> Vec<(String, AppStatus)> {
    let apps = shared.engine.app_views().await;
    let seen = match depth {
        Depth::None => HashMap::new(),
        Depth::Quick | Depth::Whole | Depth::Tree => look(shared, depth).await,
    };
    let description = |(view, app): &(UnitView, Arc<AppSpec>)| {
        (view.name.clone(), status(view, app, seen.get(&view.name), shared))
    };
    apps.iter().map(description).collect()
}

fn status(view: &UnitView, app: &AppSpec, usage: Option<&Usage>, shared: &Shared) -> AppStatus {
    let report = view.run_id.and_then(|run| shared.engine.apps().get(run));
    AppStatus {
        package_id: app.id.clone(),
        state: phase(view),
        pid: view.pid,
        started_at: view.started_at_ms,
        restart_count: view.restarts,
        last_heartbeat: report.and_then(|report| report.last_beat_ms()),
        last_error: last_error(view),
        resource_usage: usage.map(|usage| AppUsage {
            memory_rss: usage.memory_bytes,
            cpu_percent: usage.cpu_percent,
        }),
    }
}

/// Maps a unit's state to the state in the app protocol.
pub(crate) fn phase(view: &UnitView) -> AppPhase {
    match view.state {
        UnitState::Stopped | UnitState::Done | UnitState::Scheduled | UnitState::Suspended => {
            AppPhase::Stopped
        }
        UnitState::Waiting | UnitState::Queued | UnitState::Starting => AppPhase::Starting,
        // It runs, but is unhealthy.
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
        _ => view
            .ends
            .first()
            .map(|end| end.description.clone())
            .filter(|description| description != "exit 0"),
    }
}

async fn logs(view: &UnitView, lines: u64, shared: &Shared) -> Vec<AppLine> {
    // A requested end is not recorded as an end.
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

/// The last lines of each stream, in the order in which they were written.
fn last_lines(output: Arc<OutputState>, lines: u64) -> Vec<AppLine> {
    let mut reader = LogReader::new(output);
    let mut offset = reader.lines_before_end(lines).unwrap_or(0);
    let (mut found, mut held, mut read) = (Vec::new(), Vec::new(), 0);
    let mut of_stderr = false;
    let close = |held: &mut Vec<u8>, of_stderr: bool, found: &mut Vec<AppLine>| {
        if !held.is_empty() {
            let text = String::from_utf8_lossy(held).trim_end_matches(['\r', '\n']).to_owned();
            let stream = if of_stderr { AppStream::Stderr } else { AppStream::Stdout };
            found.push(AppLine { stream, text });
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
