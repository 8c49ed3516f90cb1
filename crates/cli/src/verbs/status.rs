//! `ostler status` without names: the state of the daemon. With names: `unit/show.rs`.

use super::unit;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use crate::render::{ago, plain_time};
use ostler_client::{ClientError, greet};
use ostler_engine::Home;
use ostler_model::{Depth, PoolView, UnitState, UnitView};
use ostler_ops::pools;
use ostler_os::FolderRefused;
use ostler_sys::short_duration;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::time::Duration;

/// A running supervisor answers in this time; a starting one may not.
const PATIENCE: Duration = Duration::from_millis(500);

/// The present state, from the kernel and the supervisor. Files supply only what neither of them knows, and only if the
/// process that they name holds the home's lock.
///
/// As in `supervisor.json`, `pid` is the guardian.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub running: bool,
    /// Whether the supervisor answered; `null` if nothing runs, or if the home belongs to another user and the
    /// supervisor was not asked.
    pub answering: Option<bool>,
    pub pid: Option<i32>,
    pub supervisor_pid: Option<i32>,
    pub started_at_ms: Option<u64>,
    pub uptime_ms: Option<u64>,
    pub crash_count: u64,
    pub last_crash_at_ms: Option<u64>,
    pub home: String,
    pub version: Option<String>,
    pub runs: Option<u64>,
    /// The address where the supervisor listens for HTTP.
    pub http: Option<String>,
    /// Why it does not listen although HTTP is enabled.
    pub http_error: Option<String>,
    pub units: Vec<UnitView>,
    pub pools: Vec<PoolView>,
}

/// The file `supervisor.json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StateFile {
    pid: Option<i32>,
    gateway_pid: Option<i32>,
    started_at: Option<String>,
    crash_count: u64,
    last_crash_at: Option<String>,
}

pub fn status(context: &Context, json: bool) -> Result<Exit, Failure> {
    let status = Status::look(context)?;
    if json {
        outln!("{}", serde_json::to_string(&status)?);
    } else {
        for line in status.description() {
            outln!("{line}");
        }
    }
    Ok(if status.running { Exit::DONE } else { Exit::NOT_RUNNING })
}

impl Status {
    /// Reads the status. A home that this user may not read is an error.
    pub fn look(context: &Context) -> Result<Self, Failure> {
        let home = &context.home;
        let file = read(home);
        let mut status = Self {
            running: is_owned(home)?,
            answering: None,
            pid: None,
            supervisor_pid: None,
            started_at_ms: file.started_at.as_deref().and_then(at_ms),
            uptime_ms: None,
            crash_count: file.crash_count,
            last_crash_at_ms: file.last_crash_at.as_deref().and_then(at_ms),
            home: home.path().display().to_string(),
            version: None,
            runs: None,
            http: None,
            http_error: None,
            units: Vec::new(),
            pools: Vec::new(),
        };
        if !status.running {
            return Ok(status);
        }
        let greeted = match greet(&home.sockets(), PATIENCE) {
            // Root does not connect to another user's supervisor; the status comes from the kernel.
            Err(ClientError::Untrusted(FolderRefused::Foreign { .. })) => None,
            greeted => {
                let greeted = greeted?;
                status.answering = Some(greeted.is_some());
                greeted
            }
        };
        match greeted {
            Some((mut client, pong)) => {
                status.pid = pong.guardian;
                status.supervisor_pid = Some(pong.pid as i32);
                status.version = Some(pong.version);
                status.runs = Some(pong.live);
                let _ = client.be_patient(Some(PATIENCE));
                let looks = unit::look(&mut client, Vec::new(), Depth::None).unwrap_or_default();
                status.units = looks.into_iter().map(|look| look.view).collect();
                if let Ok(pools) = client.call(&pools::List {}) {
                    status.pools = pools;
                }
            }
            None => (status.pid, status.supervisor_pid) = holders(home, file.pid, file.gateway_pid),
        }
        #[cfg(feature = "http")]
        if let Some(description) = ostler_http::listening(home.path())
            && status.supervisor_pid == i32::try_from(description.pid).ok()
        {
            status.http = description
                .address
                .filter(|_| description.error.is_none())
                .map(|at| at.to_string());
            status.http_error = description.error;
        }
        if file.pid.is_none() || file.pid != status.pid {
            // The file is from an earlier guardian, so its counters are not valid.
            status.started_at_ms = None;
            status.crash_count = 0;
            status.last_crash_at_ms = None;
        }
        if status.started_at_ms.is_none() {
            let eldest = status.pid.or(status.supervisor_pid);
            status.started_at_ms = eldest.and_then(ostler_os::started_at_ms);
        }
        let now_ms = ostler_os::wall_ms();
        status.uptime_ms = status.started_at_ms.map(|started| now_ms.saturating_sub(started));
        Ok(status)
    }

    /// The status as text.
    pub fn description(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut say =
            |what: &str, description: String| lines.push(format!("{what:<9}{description}"));
        if !self.running {
            say("Daemon:", "stopped".to_owned());
            let last = self.started_at_ms.map(plain_time);
            say("Last run:", format!(" {}", last.unwrap_or_else(|| "never".to_owned())));
            return lines;
        }
        let state = match (self.supervisor_pid, self.answering) {
            (None, _) => "restarting",
            (Some(_), Some(false)) => "running, but the supervisor does not answer",
            (Some(_), Some(true) | None) => "running",
        };
        say("Daemon:", state.to_owned());
        let pids = [(self.pid, "guardian"), (self.supervisor_pid, "supervisor")];
        let pids: Vec<String> =
            pids.into_iter().filter_map(|(pid, who)| Some(format!("{} ({who})", pid?))).collect();
        if !pids.is_empty() {
            say("PID:", pids.join(", "));
        }
        if let Some(ms) = self.uptime_ms {
            say("Uptime:", short_duration(ms));
        }
        let last = self
            .last_crash_at_ms
            .map(|at| format!(" (last: {})", ago(ostler_os::wall_ms().saturating_sub(at))));
        say("Crashes:", format!("{} since start{}", self.crash_count, last.unwrap_or_default()));
        if let Some(runs) = self.runs {
            say("Runs:", format!("{runs} live"));
        }
        if let Some(address) = &self.http {
            say("HTTP:", format!("http://{address}"));
        }
        if let Some(error) = &self.http_error {
            say("HTTP:", format!("not listening, retrying ({error})"));
        }
        let units: Vec<&UnitView> = self.units.iter().filter(|unit| unit.is_listed()).collect();
        if !units.is_empty() {
            let ready = units.iter().filter(|view| view.state == UnitState::Ready).count();
            say("Units:", format!("{}, {ready} ready", units.len()));
        }
        if !self.pools.is_empty() {
            say("Pools:", self.pools.iter().map(describe_pool).collect::<Vec<_>>().join(", "));
        }
        say("Home:", self.home.clone());
        lines
    }
}

/// `coders 4 of 4 (2 queued)`
fn describe_pool(pool: &PoolView) -> String {
    let PoolView { name, max, running, queued, .. } = pool;
    let of = max.map(|max| format!(" of {max}")).unwrap_or_default();
    let waiting = match queued.len() {
        0 => String::new(),
        count => format!(" ({count} queued)"),
    };
    format!("{name} {}{of}{waiting}", running.len())
}

fn read(home: &Home) -> StateFile {
    let text = std::fs::read_to_string(home.path().join("supervisor.json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Whether a process holds the home's lock. The kernel releases the lock when its holders exit.
fn is_owned(home: &Home) -> Result<bool, Failure> {
    let lock = home.lock();
    match ostler_os::take_lock(&lock) {
        Ok(taken) => Ok(taken.is_none()),
        // This user cannot see whether the lock is held.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let owner = ostler_os::owner_of(home.path());
            let owner =
                owner.map_or_else(|_| String::new(), |uid| format!(", which belongs to uid {uid}"));
            Err(Failure::failed(anyhow::anyhow!(
                "permission denied: cannot read the home {}{owner}; run `ostler status` as its owner",
                home.path().display()
            )))
        }
        // The lock file cannot be opened for writing, or does not exist.
        Err(_) => Ok(!ostler_os::holders(&lock).is_empty()),
    }
}

/// The processes named by the file, if they hold the lock; else the processes that do.
fn holders(home: &Home, pid: Option<i32>, gateway_pid: Option<i32>) -> (Option<i32>, Option<i32>) {
    let lock = home.lock();
    let holds = |pid: Option<i32>| pid.filter(|pid| ostler_os::holds_open(*pid, &lock));
    let named = (holds(pid), holds(gateway_pid));
    if named.0.is_some() {
        return named;
    }
    let holders = ostler_os::holders(&lock);
    let find = |verb: &str| {
        let met = |words: &Vec<String>| words.get(1).is_some_and(|word| word == verb);
        holders.iter().find(|(_, words)| met(words)).map(|(pid, _)| *pid)
    };
    (find("guardian"), find("supervisor"))
}

fn at_ms(text: &str) -> Option<u64> {
    text.parse::<jiff::Timestamp>().ok().map(|time| time.as_millisecond() as u64)
}
