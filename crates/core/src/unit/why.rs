//! The displayed state of a unit, and the reason in one sentence.

use super::phase::{Delay, DelayCause, Phase, Then};
use super::state::Unit;
use super::units::Units;
use crate::duration::{limit, seconds};
use crate::restart::{REQUESTS_MOST, recent};
use crate::time::Now;
use ostler_model::{Check, Part, ReadySpec, UnitState};

/// The description of an end that requests a restart.
const RESTART_REQUESTED: &str = "exit 75";
/// Shown for a part of Ostler that restarts.
pub(super) const ALWAYS_RESTARTED: &str = "a part of Ostler, always restarted";
/// A longer limit is none.
const LIMIT_MOST_MS: u64 = 30 * 86_400_000;

impl Units {
    pub(super) fn state(&self, unit: &Unit, now: Now) -> (UnitState, String) {
        let record = &unit.record;
        match &unit.phase {
            Phase::Stopped if record.rests => {
                (UnitState::Stopped, "stopped with the daemon; run `ostler start`".to_owned())
            }
            Phase::Stopped if record.spec.part == Some(Part::Daemon) => {
                (UnitState::Stopped, "starts when a unit needs it".to_owned())
            }
            Phase::Stopped => (UnitState::Stopped, String::new()),
            Phase::Reconciling => (UnitState::Starting, "looking for its run".to_owned()),
            Phase::Waiting => {
                (UnitState::Waiting, format!("waiting for {}", self.missing(unit).join(", ")))
            }
            // The pool supplies the reason.
            Phase::Queued => (UnitState::Queued, String::new()),
            Phase::Launching => (UnitState::Starting, "starting".to_owned()),
            Phase::Unready(_) => (UnitState::Starting, unready(unit, now)),
            Phase::Ready(_) => (UnitState::Ready, unit.degraded.clone().unwrap_or_default()),
            Phase::Leaving(_) => {
                (UnitState::Stopping, "waiting for its dependents to stop".to_owned())
            }
            Phase::Stopping(ending) => {
                let why = match ending.then {
                    Then::StayStopped | Then::Remove => "stopping",
                    Then::StartAgain => "stopping before a restart",
                    Then::Sleep => "stopping because it is idle",
                    Then::Judge(_) => "stopping because its check failed",
                };
                (UnitState::Stopping, why.to_owned())
            }
            Phase::Backoff(delay) => (UnitState::Backoff, delayed(unit, delay, now)),
            Phase::Over => {
                let over = record.over.as_ref();
                let is_clean = over.is_some_and(|over| over.is_clean);
                let description = over.map(|over| over.description.clone()).unwrap_or_default();
                (if is_clean { UnitState::Done } else { UnitState::Error }, description)
            }
            Phase::Broken => {
                let opened = record.tally.opened.as_ref();
                let why = opened.map(|opened| opened.why.as_str()).unwrap_or_default();
                let name = &record.spec.name;
                (UnitState::Error, format!("{why}; retry with \"ostler start {name}\""))
            }
            Phase::Scheduled => (UnitState::Scheduled, String::new()),
            Phase::Suspended => {
                let why = record.suspended.as_ref().map(|suspended| suspended.why.clone());
                (UnitState::Suspended, why.unwrap_or_default())
            }
        }
    }
}

/// `waiting for tcp 127.0.0.1:8080 (6 s of 60 s)`
fn unready(unit: &Unit, now: Now) -> String {
    let Some(ReadySpec { check, timeout_ms }) = &unit.record.spec.ready else {
        return "starting".to_owned();
    };
    let most_ms = match check {
        // A delay has its own time.
        Check::Delay(ms) => *ms,
        Check::Http(_)
        | Check::HttpHealthy(_)
        | Check::Tcp(_)
        | Check::Exec(_)
        | Check::Line(_)
        | Check::Notify
        | Check::App => *timeout_ms,
    };
    let waited = now.wall_ms.saturating_sub(unit.since_ms) / 1_000;
    let most =
        if most_ms < LIMIT_MOST_MS { format!(" of {}", limit(most_ms)) } else { String::new() };
    format!("waiting for {} ({waited} s{most})", awaited(check))
}

/// What the check waits for.
fn awaited(check: &Check) -> String {
    match check {
        Check::Http(url) | Check::HttpHealthy(url) => url.clone(),
        Check::Tcp(address) => format!("tcp {address}"),
        Check::Exec(argv) => format!("command {}", argv.join(" ")),
        Check::Line(pattern) => format!("a line that matches {pattern}"),
        Check::Notify => "READY=1".to_owned(),
        Check::App => "app.ready".to_owned(),
        Check::Delay(_) => "its start delay".to_owned(),
    }
}

/// `restarting in 0.4 s (failure 1 of 5): exit 3`
fn delayed(unit: &Unit, delay: &Delay, now: Now) -> String {
    let left = seconds(delay.until_mono_ms.saturating_sub(now.mono_ms));
    let (verb, why) = match delay.why {
        DelayCause::Shortage => {
            ("retrying", unit.shortage.as_ref().map(|shortage| shortage.description.clone()))
        }
        DelayCause::StartRate => ("starting", Some("too many starts within 1 s".to_owned())),
        DelayCause::NotLaunched => ("retrying", Some("its run could not be recorded".to_owned())),
        DelayCause::Restart => {
            let last = unit.record.ends.first().map(|end| end.description.clone());
            return match last {
                Some(last) => format!("restarting in {left}{}: {last}", counted(unit, &last)),
                None => format!("restarting in {left}"),
            };
        }
    };
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    format!("{verb} in {left}{why}")
}

/// Which failure it was, and how many the breaker allows.
fn counted(unit: &Unit, last: &str) -> String {
    let (spec, tally) = (&unit.record.spec, &unit.record.tally);
    if spec.part.is_some() {
        return format!(" ({ALWAYS_RESTARTED})");
    }
    if last == RESTART_REQUESTED && tally.restart_requests > 1 {
        return format!(" (request {} of {REQUESTS_MOST})", tally.restart_requests);
    }
    let last_ms = tally.failures_ms.last().copied().unwrap_or(0);
    match spec.restart.limit.filter(|breaker| breaker.count > 0) {
        Some(breaker) => {
            let failures = recent(breaker, &tally.failures_ms, last_ms);
            format!(" (failure {failures} of {})", breaker.count)
        }
        None => format!(" (failure {})", tally.steps),
    }
}
