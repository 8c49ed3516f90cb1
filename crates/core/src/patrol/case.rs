//! All inputs of a decision about one agent.

use super::sight::Sight;
use ostler_model::{
    Freshness, Observation, PatrolOrders, PatrolPolicy, PatrolState, SessionHealth, SessionSeen,
    WatchSpec, WatchState,
};

/// One agent at one tick.
#[derive(Clone, Copy)]
pub struct AgentCase<'a> {
    pub seen: &'a Observation,
    pub state: &'a WatchState,
    pub watch: &'a WatchSpec,
    pub policy: &'a PatrolPolicy,
    pub town: &'a PatrolState,
    pub orders: &'a PatrolOrders,
    pub now_ms: u64,
}

/// How late the agent is, by its heartbeat, or by its silence if it has no readable heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lateness {
    No,
    Stale,
    VeryStale,
    /// Neither heartbeat nor activity can be observed.
    Unseen,
}

impl<'a> AgentCase<'a> {
    pub(super) fn sight(&self) -> Sight<'a> {
        let AgentCase { seen, state, policy, now_ms, .. } = *self;
        Sight { seen, state, policy, now_ms }
    }

    pub(super) fn freshness(&self) -> Freshness {
        self.sight().freshness(self.watch)
    }

    pub(super) fn late(&self) -> Lateness {
        match (self.freshness(), self.sight().silent_ms()) {
            (Freshness::Fresh, _) => Lateness::No,
            (Freshness::Stale, _) => Lateness::Stale,
            (Freshness::VeryStale, _) => Lateness::VeryStale,
            (Freshness::Unknown, None) => Lateness::Unseen,
            (Freshness::Unknown, Some(silent)) if silent < self.watch.stale_ms => Lateness::No,
            (Freshness::Unknown, Some(silent)) if silent <= self.watch.very_stale_ms => {
                Lateness::Stale
            }
            (Freshness::Unknown, Some(_)) => Lateness::VeryStale,
        }
    }

    /// The ticks have been regular for long enough to trust an observed silence.
    pub(super) fn is_settled(&self) -> bool {
        self.town
            .resumed_at_ms
            .is_none_or(|at| self.now_ms.saturating_sub(at) >= self.policy.grace_ms)
    }

    /// Very late, with work that has waited for a while, and without activity.
    pub(super) fn is_late_with_work(&self) -> bool {
        let sight = self.sight();
        self.late() == Lateness::VeryStale
            && sight.has_work()
            && sight.pending_ms() >= self.watch.stale_ms
            && self.is_settled()
            && !sight.moves()
            && !sight.is_starting()
            && !sight.is_busy()
            && !sight.awaits_gate()
    }

    pub(super) fn health(&self) -> SessionHealth {
        let sight = self.sight();
        match &self.seen.session {
            SessionSeen::Dead => SessionHealth::SessionDead,
            SessionSeen::AgentDead(_) => SessionHealth::AgentDead,
            SessionSeen::Unknown(_) => SessionHealth::Unknown,
            SessionSeen::Asleep(_) => SessionHealth::Healthy,
            SessionSeen::Alive | SessionSeen::Foreign => {
                if sight.is_stuck() {
                    SessionHealth::AgentHung
                } else if !self.is_late_with_work() {
                    SessionHealth::Healthy
                } else if sight.can_see() {
                    SessionHealth::AgentHung
                } else {
                    SessionHealth::Unknown
                }
            }
        }
    }
}
