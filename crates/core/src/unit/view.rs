//! The displayed state of a unit, and the reason.

use super::machine::{Phase, Then, Unit};
use super::units::Units;
use crate::restart::WISHES_MOST;
use crate::time::Now;
use ostler_model::{Part, ProbeState, UnitState, UnitView};

/// Text of an end that requests a restart.
const WISH: &str = "exit 75";

/// Shown for a part of Ostler that restarts.
pub(super) const ALWAYS_AGAIN: &str = "a part of Ostler, always restarted";

impl Units {
    pub(crate) fn view(&self, unit: &Unit, now: Now) -> UnitView {
        let record = &unit.record;
        let (state, why) = self.state(unit, now);
        UnitView {
            name: record.spec.name.clone(),
            state,
            desired: record.desired,
            why,
            since_ms: unit.since_ms,
            run_id: unit.run(),
            pid: None,
            started_at_ms: None,
            restarts: record.tally.restarts,
            command: record.spec.argv.join(" "),
            depends_on: record.spec.depends_on.clone(),
            // A daemon part takes up a change at its next start, whenever that is.
            changed: unit.run().is_some()
                && record.spec.part != Some(Part::Daemon)
                && record.started_with.as_ref().is_some_and(|with| *with != record.run_digest),
            ends: record.ends.clone(),
            opened: record.tally.opened.clone(),
            next_at_ms: match unit.phase {
                Phase::Backoff { until_mono_ms, .. } => {
                    Some(now.wall_ms + until_mono_ms.saturating_sub(now.mono_ms))
                }
                _ => None,
            },
            file: record.spec.file.clone(),
            tmux: record.spec.tmux.clone(),
            agent: None,
            part: record.spec.part,
            pool: record.spec.pool.clone(),
            agent_session: None,
            kept_awake: None,
            probe_state: record.spec.container.is_some().then(|| probe_state(unit)),
            last_seen_running_at: None,
        }
    }

    fn state(&self, unit: &Unit, now: Now) -> (UnitState, String) {
        let record = &unit.record;
        let last = record.ends.first().map(|end| end.description.as_str()).unwrap_or_default();
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
            Phase::Unready { .. } => (UnitState::Starting, "not ready yet".to_owned()),
            Phase::Ready { .. } => (UnitState::Ready, unit.ailing.clone().unwrap_or_default()),
            Phase::Leaving { .. } => {
                (UnitState::Stopping, "waiting for its dependents to stop".to_owned())
            }
            Phase::Stopping { then, .. } => {
                let why = match then {
                    Then::Stay | Then::Vanish => "stopping",
                    Then::Again => "stopping before a restart",
                    Then::Sleep => "stopping because it is idle",
                    Then::Judge(_) => "stopping because its check failed",
                };
                (UnitState::Stopping, why.to_owned())
            }
            Phase::Backoff { until_mono_ms, wait_ms } => {
                let left = until_mono_ms.saturating_sub(now.mono_ms).div_ceil(1_000);
                if let Some(shortage) = &unit.shortage {
                    let description = &shortage.description;
                    return (UnitState::Backoff, format!("retrying in {left} s: {description}"));
                }
                let wishes = record.tally.wishes;
                let of = match (record.spec.restart.limit, record.spec.part) {
                    (_, None) if wishes > 1 && last == WISH => {
                        format!(" (request {wishes} of {WISHES_MOST})")
                    }
                    (Some(limit), _) => {
                        format!(" (failure {} of {})", record.tally.failures_ms.len(), limit.count)
                    }
                    (None, Some(_)) => format!(" ({ALWAYS_AGAIN})"),
                    (None, None) => String::new(),
                };
                let wait = match *wait_ms {
                    short @ 0..1_000 => format!("{short} ms"),
                    long => format!("{left} s of {} s", long / 1_000),
                };
                (UnitState::Backoff, format!("restarting in {wait}{of}: {last}"))
            }
            Phase::Over => {
                let over = record.over.as_ref();
                let is_clean = over.is_some_and(|over| over.is_clean);
                let description = over.map(|over| over.description.clone()).unwrap_or_default();
                (if is_clean { UnitState::Done } else { UnitState::Error }, description)
            }
            Phase::Broken => {
                let why = record.tally.opened.as_ref().map(|opened| opened.why.clone());
                (UnitState::Error, why.unwrap_or_default())
            }
            Phase::Scheduled => (UnitState::Scheduled, String::new()),
            Phase::Suspended => {
                let why = record.suspended.as_ref().map(|suspended| suspended.why.clone());
                (UnitState::Suspended, why.unwrap_or_default())
            }
        }
    }
}

fn probe_state(unit: &Unit) -> ProbeState {
    match &unit.phase {
        Phase::Ready { .. } if unit.ailing.is_none() => ProbeState::Success,
        Phase::Ready { .. } | Phase::Broken | Phase::Stopping { then: Then::Judge(_), .. } => {
            ProbeState::Failed
        }
        Phase::Over => match &unit.record.over {
            Some(over) if !over.is_clean => ProbeState::Failed,
            Some(_) | None => ProbeState::Pending,
        },
        Phase::Unready { .. } => ProbeState::Running,
        Phase::Stopped
        | Phase::Reconciling
        | Phase::Waiting
        | Phase::Queued
        | Phase::Launching
        | Phase::Leaving { .. }
        | Phase::Stopping { then: Then::Stay | Then::Vanish | Then::Again | Then::Sleep, .. }
        | Phase::Backoff { .. }
        | Phase::Scheduled
        | Phase::Suspended => ProbeState::Pending,
    }
}
