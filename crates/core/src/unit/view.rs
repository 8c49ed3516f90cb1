//! What callers see of a unit.

use super::phase::{Phase, Then};
use super::state::Unit;
use super::units::Units;
use crate::time::Now;
use ostler_model::{Part, ProbeState, UnitView};

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
            next_at_ms: unit
                .phase
                .delayed_until()
                .map(|until| now.wall_ms + until.saturating_sub(now.mono_ms)),
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
}

/// How the probe of a container stands.
fn probe_state(unit: &Unit) -> ProbeState {
    match &unit.phase {
        Phase::Ready(_) if unit.degraded.is_none() => ProbeState::Success,
        Phase::Ready(_) | Phase::Broken => ProbeState::Failed,
        Phase::Stopping(ending) => match ending.then {
            Then::Judge(_) => ProbeState::Failed,
            Then::StayStopped | Then::Remove | Then::StartAgain | Then::Sleep => {
                ProbeState::Pending
            }
        },
        Phase::Over => match &unit.record.over {
            Some(over) if !over.is_clean => ProbeState::Failed,
            Some(_) | None => ProbeState::Pending,
        },
        Phase::Unready(_) => ProbeState::Running,
        Phase::Stopped
        | Phase::Reconciling
        | Phase::Waiting
        | Phase::Queued
        | Phase::Launching
        | Phase::Leaving(_)
        | Phase::Backoff(_)
        | Phase::Scheduled
        | Phase::Suspended => ProbeState::Pending,
    }
}
