//! Facts derived from one observation and the remembered state.

use ostler_model::{
    AgentState, DeclaredState, Freshness, HeartbeatSeen, Observation, PatrolPolicy, PendingSeen,
    WatchSpec, WatchState,
};

/// A program that always uses more than this computes, and is not idle.
pub(super) const CPU_FLOOR_MOST: f64 = 2.0;

/// Output this soon after the agent reported that it is stuck is part of the report.
const SAYING_MS: u64 = 10_000;

/// How old the heartbeat is. A missing or unreadable file proves nothing.
pub fn freshness(heartbeat: &HeartbeatSeen, watch: &WatchSpec) -> Freshness {
    match heartbeat {
        HeartbeatSeen::None | HeartbeatSeen::Missing | HeartbeatSeen::Unreadable { .. } => {
            Freshness::Unknown
        }
        HeartbeatSeen::At { age_ms, .. } => of_age(*age_ms, watch),
    }
}

fn of_age(age_ms: u64, watch: &WatchSpec) -> Freshness {
    if age_ms < watch.stale_ms {
        Freshness::Fresh
    } else if age_ms <= watch.very_stale_ms {
        Freshness::Stale
    } else {
        Freshness::VeryStale
    }
}

/// One observation, and the state that it is compared with.
///
/// After the clock was set back, files and sessions have times in the future, and their age is 0 until the clock has
/// caught up. So an age of 0 counts only if something is new: another cycle, another screen, a session that did not
/// exist before. Otherwise the times that the patrol itself recorded count.
#[derive(Clone, Copy)]
pub(super) struct Sight<'a> {
    pub seen: &'a Observation,
    pub state: &'a WatchState,
    pub policy: &'a PatrolPolicy,
    pub now_ms: u64,
}

impl Sight<'_> {
    /// A time in the future counts as now.
    pub fn age_of(&self, at_ms: u64) -> u64 {
        self.now_ms.saturating_sub(at_ms)
    }

    fn ago(&self, age_ms: u64) -> u64 {
        self.now_ms.saturating_sub(age_ms)
    }

    /// We typed after the screen was last read, so a change may be only that text.
    pub fn typed_since_screen(&self) -> bool {
        self.state.typed_at_ms.is_some() && self.state.typed_at_ms >= self.state.screen_at_ms
    }

    /// When it took a text that was typed into it.
    fn taken_at_ms(&self) -> Option<u64> {
        self.seen.taken_age_ms.map(|age| self.ago(age))
    }

    /// A program without a screen has only its output.
    fn output_at_ms(&self) -> Option<u64> {
        let is_first = self.state.moved_at_ms.is_none();
        self.seen
            .output_age_ms
            .filter(|age| self.seen.screen.is_none() && (*age > 0 || is_first))
            .map(|age| self.ago(age))
    }

    /// When the screen changed, apart from spinners and clocks.
    fn redrawn_at_ms(&self) -> Option<u64> {
        let (now, before) = (self.seen.screen?, self.state.screen?);
        let is_new = now != before && !self.typed_since_screen();
        // Output is not older than the change, and no change is older than the last observation.
        let at = self.ago(self.seen.output_age_ms.unwrap_or(0));
        is_new.then(|| at.max(self.state.screen_at_ms.unwrap_or(at)))
    }

    pub fn shows(&self, state: AgentState) -> bool {
        self.seen.shows.as_ref().is_some_and(|shown| shown.state == state)
    }

    /// The agent uses more CPU than at rest. An agent that shows an idle prompt is idle, whatever it uses.
    pub fn computes(&self) -> bool {
        const NOISE: f64 = 5.0;
        let floor = self.state.cpu_floor_percent.unwrap_or(CPU_FLOOR_MOST);
        let least = self.policy.busy_cpu_percent + NOISE * floor;
        !self.shows(AgentState::Idle) && self.seen.cpu_percent.is_some_and(|used| used >= least)
    }

    /// Its screen shows work in progress, is being redrawn, and has not been the same for too long.
    pub fn is_thinking(&self) -> bool {
        const DRAWN_MS: u64 = 60_000;
        let is_drawn = self.seen.output_age_ms.is_some_and(|age| age < DRAWN_MS);
        let is_patient = self.silent_ms().is_none_or(|silent| silent < self.policy.thinking_ms);
        self.shows(AgentState::Working) && is_drawn && is_patient
    }

    /// The last known activity.
    pub fn moved_at_ms(&self) -> Option<u64> {
        let computes = self.computes().then_some(self.now_ms);
        self.state
            .moved_at_ms
            .max(self.output_at_ms())
            .max(self.redrawn_at_ms())
            .max(self.taken_at_ms())
            .max(computes)
    }

    /// Without any of these, no activity and no observed activity are the same.
    pub fn can_see(&self) -> bool {
        self.seen.output_age_ms.is_some() || self.seen.screen.is_some()
    }

    /// Whether more than silence can show that it hangs: its profile judges its screen, or it writes a heartbeat. Any
    /// other program may be at a long job, or may take its work in another way.
    pub fn is_known(&self) -> bool {
        let has_profile = self.seen.shows.as_ref().is_some_and(|shown| !shown.profile.is_empty());
        has_profile || self.heartbeat_at_ms().is_some()
    }

    pub fn started_at_ms(&self) -> Option<u64> {
        match self.seen.age_ms {
            Some(0) => Some(self.state.there_since_ms.unwrap_or(self.now_ms)),
            Some(age) => Some(self.ago(age)),
            None => self.state.started_at_ms,
        }
    }

    /// How long it has shown no activity, if that can be observed. At most the age of its session.
    pub fn silent_ms(&self) -> Option<u64> {
        let since = self.moved_at_ms().or(self.state.screen_since_ms).unwrap_or(self.now_ms);
        let since = Some(since).max(self.started_at_ms()).unwrap_or(self.now_ms);
        self.can_see().then(|| self.age_of(since))
    }

    pub fn moves(&self) -> bool {
        self.computes() || self.silent_ms().is_some_and(|silent| silent < self.policy.progress_ms)
    }

    pub fn heartbeat_at_ms(&self) -> Option<u64> {
        match &self.seen.heartbeat {
            HeartbeatSeen::At { age_ms: 0, cycle, .. } if self.state.cycle == Some(*cycle) => {
                self.state.cycle_since_ms.or(Some(self.now_ms))
            }
            HeartbeatSeen::At { age_ms, .. } => Some(self.ago(*age_ms)),
            HeartbeatSeen::None | HeartbeatSeen::Missing | HeartbeatSeen::Unreadable { .. } => None,
        }
    }

    pub fn freshness(&self, watch: &WatchSpec) -> Freshness {
        self.heartbeat_at_ms().map_or(Freshness::Unknown, |at| of_age(self.age_of(at), watch))
    }

    pub fn cycle(&self) -> Option<u64> {
        match &self.seen.heartbeat {
            HeartbeatSeen::At { cycle, .. } => Some(*cycle),
            HeartbeatSeen::None | HeartbeatSeen::Missing | HeartbeatSeen::Unreadable { .. } => None,
        }
    }

    pub fn has_work(&self) -> bool {
        match &self.seen.pending {
            PendingSeen::Work { .. } => true,
            PendingSeen::Nothing | PendingSeen::Unknown { .. } => false,
        }
    }

    /// How long work has been pending, as far as observed.
    pub fn pending_ms(&self) -> u64 {
        self.state.pending_since_ms.map_or(0, |since| self.age_of(since))
    }

    pub fn is_busy(&self) -> bool {
        self.seen.busy_until_ms.is_some_and(|until| until > self.now_ms)
    }

    pub fn awaits_gate(&self) -> bool {
        self.seen.declared.as_ref().is_some_and(|said| said.state == DeclaredState::AwaitingGate)
    }

    /// It reported that it is stuck, and nothing newer contradicts: no other session, no heartbeat, no activity.
    pub fn is_stuck(&self) -> bool {
        let Some(said) = &self.seen.declared else { return false };
        let said_ms = said.at_ms.min(self.now_ms);
        let received_ms = said_ms.saturating_add(SAYING_MS);
        said.state == DeclaredState::Stuck
            && !self.computes()
            && self.started_at_ms().is_none_or(|at| at <= said_ms)
            && self.heartbeat_at_ms().is_none_or(|at| at <= received_ms)
            && self.moved_at_ms().is_none_or(|at| at <= received_ms)
    }

    /// It is active and has work, but has completed no cycle for very long.
    pub fn is_stalled(&self) -> bool {
        self.has_work()
            && self.pending_ms() >= self.policy.stalled_ms
            && self.heartbeat_at_ms().is_some_and(|at| self.age_of(at) >= self.policy.stalled_ms)
    }

    /// The session is new, and the agent has shown no sign of life in it yet.
    pub fn is_starting(&self) -> bool {
        self.started_at_ms().is_some_and(|started| {
            self.age_of(started) < self.policy.grace_ms
                && self.heartbeat_at_ms().is_none_or(|at| at <= started)
        })
    }

    /// Whether it has shown activity since the last rung.
    pub fn has_moved_since(&self, at_ms: u64, cycle: Option<u64>) -> bool {
        self.heartbeat_at_ms().is_some_and(|at| at > at_ms)
            || (cycle.is_some() && self.cycle().is_some() && cycle != self.cycle())
            || self.moved_at_ms().is_some_and(|at| at > at_ms)
            || self.is_busy()
            || self.awaits_gate()
    }
}

#[cfg(test)]
mod tests;
