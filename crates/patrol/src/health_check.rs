//! `health-check`: sends a ping into the agent's session and waits for a reaction.
//!
//! The agent has 30 seconds to react. After three failures in a row it should be killed, but not again within five
//! minutes of the last kill. An agent that is working counts as responsive and gets no ping. The counts are in Gas
//! Town's file `deacon/health-check-state.json`.

use crate::act::{PING, SENDER, say};
use crate::connection::{Connection, Connector};
use crate::error::PatrolError;
use crate::files::{self, stamp};
use crate::nudge::{Mode, Refusal};
use crate::observe;
use crate::plan::Plan;
use crate::screen;
use ostler_model::{AgentState, HeartbeatSeen, Observation, PatrolMemory, Receipt, SessionSeen};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

const POLL: Duration = Duration::from_secs(2);
const FAILURES: u32 = 3;
/// A program that was just started may have no prompt yet.
const YOUNG_MS: u64 = 15_000;
const COOLDOWN_MS: u64 = 5 * 60_000;
/// CPU use from which an agent counts as working: agents at an idle prompt use up to 6 %.
const BUSY_PERCENT: f64 = 15.0;

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "result")]
pub enum Checked {
    Responsive {
        why: String,
    },
    /// Nothing is running that could react.
    NotRunning {
        why: String,
    },
    /// The screen waits for a person, so nothing is typed.
    Waiting {
        why: String,
    },
    /// The agent was killed a moment ago.
    InCooldown {
        seconds: u64,
    },
    /// Failures in a row so far.
    Silent {
        failures: u32,
    },
    /// Too many failures in a row.
    ShouldBeKilled {
        failures: u32,
    },
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Agent {
    agent_id: String,
    last_ping_time: String,
    last_response_time: String,
    consecutive_failures: u32,
    last_force_kill_time: String,
    force_kill_count: u32,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Counted {
    agents: BTreeMap<String, Agent>,
    last_updated: String,
}

/// Checks the agent and counts the result. `timeout_ms` is how long the agent has to react.
pub fn health_check(
    connector: &Connector,
    plan: &Plan,
    name: &str,
    timeout_ms: u64,
) -> Result<Checked, PatrolError> {
    let agent = plan.agent(name)?.clone();
    let path = plan.town.health_checks();
    let now_ms = ostler_os::wall_ms();
    let known = read(&path).agents.get(&agent.name).cloned().unwrap_or_default();
    if let Some(seconds) = cooldown(&known, now_ms) {
        return Ok(Checked::InCooldown { seconds });
    }
    let mut connection = connector.open()?;
    let before = look(connector, &mut connection, plan, &agent.name)?;
    match &before.session {
        SessionSeen::Alive | SessionSeen::Foreign => {}
        SessionSeen::AgentDead(why) => return Ok(Checked::NotRunning { why: why.clone() }),
        SessionSeen::Dead => {
            return Ok(Checked::NotRunning { why: "it has no session".to_owned() });
        }
        SessionSeen::Asleep(why) => {
            return Ok(Checked::NotRunning { why: format!("it is suspended: {why}") });
        }
        SessionSeen::Unknown(why) => return Ok(Checked::NotRunning { why: why.clone() }),
    }
    if before.busy_until_ms.is_some_and(|until| until > now_ms) {
        return answered(&path, &agent.name, "it reported that it is busy");
    }
    if is_working(&before) {
        return answered(&path, &agent.name, "its processes use CPU");
    }
    count(&path, &agent.name, |counted, now| counted.last_ping_time = now)?;
    let description = say(connector, &agent.name, PING, Mode::Immediate);
    match (description.receipt, description.refusal) {
        // An agent that reads a text is alive.
        (Receipt::Delivered, _) => return answered(&path, &agent.name, "it read the ping"),
        (_, Some(Refusal::Obstacle)) => {
            return Ok(Checked::Waiting { why: description.words });
        }
        (_, Some(Refusal::NoSuchUnit | Refusal::NotRunning | Refusal::NoTerminal)) => {
            return Ok(Checked::NotRunning { why: description.words });
        }
        (_, Some(Refusal::NotReady)) if before.age_ms.is_some_and(|age| age < YOUNG_MS) => {
            return Ok(Checked::NotRunning { why: description.words });
        }
        // Typed or not, the agent did not read the ping. It has the rest of its time to show activity.
        (Receipt::Queued | Receipt::Expired | Receipt::Refused | Receipt::NotSent, _) => {}
    }
    let deadline = ostler_os::mono_ms() + timeout_ms;
    loop {
        let seen = look(connector, &mut connection, plan, &agent.name)?;
        if let Some(why) = response(&before, &seen) {
            return answered(&path, &agent.name, why);
        }
        let left_ms = deadline.saturating_sub(ostler_os::mono_ms());
        if left_ms == 0 {
            break;
        }
        ostler_os::nap(POLL.min(Duration::from_millis(left_ms)));
    }
    let failures = known.consecutive_failures + 1;
    count(&path, &agent.name, |counted, _| counted.consecutive_failures = failures)?;
    Ok(if failures >= FAILURES {
        Checked::ShouldBeKilled { failures }
    } else {
        Checked::Silent { failures }
    })
}

/// Records that the agent was killed after a check; the cooldown begins.
pub fn killed(plan: &Plan, name: &str) -> Result<(), PatrolError> {
    count(&plan.town.health_checks(), name, |counted, now| {
        counted.last_force_kill_time = now;
        counted.force_kill_count += 1;
        counted.consecutive_failures = 0;
    })
}

fn look(
    connector: &Connector,
    connection: &mut Connection,
    plan: &Plan,
    name: &str,
) -> Result<Observation, PatrolError> {
    let now_ms = ostler_os::wall_ms();
    let seen =
        observe::all(connector, connection, plan, &PatrolMemory::default(), Some(name), now_ms)?;
    seen.sights.into_iter().next().map(|sight| sight.seen).ok_or(PatrolError::Unexpected)
}

/// Any sign that the agent reacted.
fn response(asked: &Observation, seen: &Observation) -> Option<&'static str> {
    let beat = |seen: &Observation| match &seen.heartbeat {
        HeartbeatSeen::At { age_ms, cycle, .. } => {
            Some((seen.at_ms.saturating_sub(*age_ms), *cycle))
        }
        HeartbeatSeen::None | HeartbeatSeen::Missing | HeartbeatSeen::Unreadable { .. } => None,
    };
    if beat(seen).is_some() && beat(seen) != beat(asked) {
        return Some("its heartbeat changed");
    }
    if screen::says_more(&asked.tail, &seen.tail, &format!("[from {SENDER}] {PING}")) {
        return Some("its screen changed");
    }
    if is_working(seen) {
        return Some("its processes use CPU");
    }
    None
}

fn is_working(seen: &Observation) -> bool {
    let is_idle = seen.shows.as_ref().is_some_and(|shown| shown.state == AgentState::Idle);
    !is_idle && seen.cpu_percent.is_some_and(|percent| percent >= BUSY_PERCENT)
}

fn answered(path: &Path, name: &str, why: &str) -> Result<Checked, PatrolError> {
    count(path, name, |counted, now| {
        counted.last_response_time = now;
        counted.consecutive_failures = 0;
    })?;
    Ok(Checked::Responsive { why: why.to_owned() })
}

fn cooldown(known: &Agent, now_ms: u64) -> Option<u64> {
    let killed: jiff::Timestamp = known.last_force_kill_time.parse().ok()?;
    let over_ms = u64::try_from(killed.as_millisecond()).ok()? + COOLDOWN_MS;
    // A kill in the future means that the clock was set back.
    (over_ms > now_ms && over_ms - now_ms <= COOLDOWN_MS)
        .then(|| (over_ms - now_ms).div_ceil(1_000))
}

/// We never write a larger file.
const MOST: u64 = 4 << 20;

fn read(path: &Path) -> Counted {
    let text = files::read(path, MOST).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Holds a lock, so that two checks at once count as two.
fn count(
    path: &Path,
    name: &str,
    change: impl FnOnce(&mut Agent, String),
) -> Result<(), PatrolError> {
    let failed = |source| PatrolError::File { path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut lock_path = path.as_os_str().to_owned();
    lock_path.push(".lock");
    let lock = loop {
        match ostler_os::take_lock(Path::new(&lock_path)).map_err(failed)? {
            Some(lock) => break lock,
            None => ostler_os::nap(Duration::from_millis(5)),
        }
    };
    let mut counted = read(path);
    let now = stamp(ostler_os::wall_ms());
    let agent = counted.agents.entry(name.to_owned()).or_default();
    agent.agent_id = name.to_owned();
    change(agent, now.clone());
    counted.last_updated = now;
    let written = files::write_json(path, &counted);
    drop(lock);
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cooldown_is_five_minutes_and_no_clock_makes_it_longer() {
        let of = |time: &str| Agent { last_force_kill_time: time.to_owned(), ..Agent::default() };
        let at = 1_767_378_600_000; // 2026-01-02T18:30:00Z
        assert_eq!(cooldown(&of("2026-01-02T18:30:00Z"), at + 1_000), Some(299));
        assert_eq!(cooldown(&of("2026-01-02T18:30:00Z"), at + 300_000), None);
        assert_eq!(cooldown(&of("2027-01-02T18:30:00Z"), at), None);
        assert_eq!(cooldown(&of(""), at), None);
    }
}
