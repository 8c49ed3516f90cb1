//! The marker that prevents a second triage, and the file with the last decision.
//!
//! The process that holds the lock on the marker runs the triage; the kernel releases the lock when that process dies.
//! A marker of another tool, without our lock, counts for five minutes.

use crate::error::PatrolError;
use crate::files::{self, PatrolFiles, stamp};
use ostler_model::Step;
use serde::Serialize;
use serde_json::json;
use std::path::PathBuf;
use std::time::SystemTime;

const MARKER_LIFE_MS: u64 = 5 * 60_000;
const MARKER_MOST: u64 = 64 << 10;

/// While it is held, no other triage begins.
#[derive(Debug)]
pub struct TriageLock {
    path: PathBuf,
    _lock: ostler_os::HomeLock,
}

/// Whether a triage may begin.
#[derive(Debug)]
pub enum TriageGate {
    Now(TriageLock),
    /// Another triage is running.
    Running,
}

pub fn begin(town: &PatrolFiles, now_ms: u64) -> Result<TriageGate, PatrolError> {
    let path = town.boot_marker();
    let failed = |source| PatrolError::File { path: path.clone(), source };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let found = std::fs::metadata(&path);
    if found.as_ref().is_ok_and(|found| !found.is_file()) {
        return Err(failed(std::io::Error::other("it is not a regular file")));
    }
    let written = found.and_then(|file| file.modified());
    let is_young = written.is_ok_and(|at| {
        let at = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        now_ms.saturating_sub(at.as_millis() as u64) < MARKER_LIFE_MS
    });
    let is_ours = files::read(&path, MARKER_MOST)
        .is_ok_and(|text| String::from_utf8_lossy(&text).contains(OURS));
    let Some(lock) = ostler_os::take_lock(&path).map_err(failed)? else {
        return Ok(TriageGate::Running);
    };
    if is_young && !is_ours && std::fs::metadata(&path).is_ok_and(|file| file.len() > 0) {
        return Ok(TriageGate::Running);
    }
    let text = json!({ "by": OURS, "pid": std::process::id(), "started_at": stamp(now_ms) });
    // Write in place: a new file would not be the locked one.
    std::fs::write(&path, format!("{text}\n")).map_err(failed)?;
    Ok(TriageGate::Now(TriageLock { path, _lock: lock }))
}

const OURS: &str = "ostler patrol";

impl Drop for TriageLock {
    fn drop(&mut self) {
        let _ = files::remove(&self.path);
    }
}

#[derive(Debug, Serialize)]
struct Status<'a> {
    started_at: String,
    completed_at: String,
    last_action: &'a str,
    target: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    reason: &'a str,
    degraded: bool,
}

/// A decision, mechanical or by triage; of a tick, the gravest.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    pub begun_ms: u64,
    pub target: &'a str,
    pub step: Step,
    pub reason: &'a str,
    /// Why the mechanical decision was used.
    pub degraded: Option<&'a str>,
}

pub fn write_status(
    town: &PatrolFiles,
    now_ms: u64,
    result: &Report<'_>,
) -> Result<(), PatrolError> {
    let last_action = &result.step.to_string();
    let status = Status {
        started_at: stamp(result.begun_ms),
        completed_at: stamp(now_ms),
        last_action,
        target: result.target,
        error: result.degraded,
        reason: result.reason,
        degraded: result.degraded.is_some(),
    };
    files::write_json(&town.boot_status(), &status)
}
