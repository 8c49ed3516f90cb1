//! One agent with test defaults.

use ostler_core::patrol::{acted, decide, escalation, look};
use ostler_model::{
    AgentSeen, AgentState, Decision, Edge, HeartbeatSeen, Observation, Order, PatrolOrders,
    PatrolPolicy, PatrolState, PendingSeen, SessionSeen, Step, StepOutcome, WatchSpec, WatchState,
};

pub const SECOND: u64 = 1_000;
pub const MINUTE: u64 = 60 * SECOND;
pub const HOUR: u64 = 60 * MINUTE;
pub const TICK: u64 = 3 * MINUTE;
/// 1 January 2026.
pub const NOW: u64 = 1_767_225_600_000;

pub fn watch() -> WatchSpec {
    WatchSpec {
        name: "deacon".to_owned(),
        role: "deacon".to_owned(),
        rig: None,
        session: "hq-deacon".to_owned(),
        heartbeat: Some("/town/deacon/heartbeat.json".to_owned()),
        stale_ms: 5 * MINUTE,
        very_stale_ms: 15 * MINUTE,
        work: None,
        process: Vec::new(),
    }
}

/// Alive for a day, silent for half an hour, without work and without a heartbeat.
pub fn seen() -> Observation {
    Observation {
        agent: "deacon".to_owned(),
        at_ms: NOW,
        session: SessionSeen::Alive,
        age_ms: Some(24 * HOUR),
        heartbeat: HeartbeatSeen::None,
        pending: PendingSeen::Nothing,
        busy_until_ms: None,
        declared: None,
        output_age_ms: Some(30 * MINUTE),
        taken_age_ms: None,
        shows: None,
        is_begun: false,
        can_interrupt: true,
        screen: Some(7),
        cpu_percent: Some(0.0),
        processes: Some(3),
        tail: String::new(),
        dead_age_ms: None,
        wants_again: false,
        is_wanted: true,
    }
}

pub fn beat(age_ms: u64) -> HeartbeatSeen {
    HeartbeatSeen::At { age_ms, cycle: 42, last_action: "health-scan".to_owned() }
}

pub fn mail() -> PendingSeen {
    PendingSeen::Work { mail: 1, nudges: 0, work: false }
}

pub fn shown(state: AgentState) -> Option<AgentSeen> {
    Some(AgentSeen { profile: "claude".to_owned(), state, question: None, until_ms: None })
}

pub fn order(is_manual: bool) -> Order {
    Order { by: "me".to_owned(), reason: "lunch".to_owned(), at_ms: NOW, is_manual }
}

/// One agent and its patrol, over many ticks.
pub struct Watched {
    pub state: WatchState,
    pub town: PatrolState,
    pub orders: PatrolOrders,
    pub policy: PatrolPolicy,
    pub watch: WatchSpec,
    pub now: u64,
    pub edges: Vec<Edge>,
}

impl Watched {
    pub fn new() -> Self {
        Self {
            state: WatchState::default(),
            town: PatrolState::default(),
            orders: PatrolOrders::default(),
            policy: PatrolPolicy::default(),
            watch: watch(),
            now: NOW,
            edges: Vec::new(),
        }
    }

    pub fn look(&mut self, seen: &Observation) {
        look(&mut self.state, seen, &self.watch, &self.policy, &self.orders, self.now);
    }

    pub fn decide(&self, seen: &Observation) -> Decision {
        decide(seen, &self.state, &self.watch, &self.policy, &self.town, &self.orders, self.now)
    }

    pub fn act(&mut self, seen: &Observation, decision: &Decision) {
        self.act_with(seen, decision, &StepOutcome::Done);
    }

    pub fn act_with(&mut self, seen: &Observation, decision: &Decision, done: &StepOutcome) {
        let edge = escalation(&mut self.state, decision, seen, &self.policy, self.now);
        if edge != Edge::None {
            self.edges.push(edge);
        }
        acted(&mut self.state, decision, done, seen, &self.policy, self.now);
    }

    /// A whole tick; afterwards the clock is three minutes later.
    pub fn tick(&mut self, seen: &Observation) -> Decision {
        self.look(seen);
        let decision = self.decide(seen);
        self.act(seen, &decision);
        self.now += TICK;
        decision
    }

    /// Ticks that observe nothing new: everything only gets older.
    pub fn steps(&mut self, seen: &Observation, ticks: usize) -> Vec<Step> {
        let from = self.now;
        (0..ticks).map(|_| self.tick(&older(seen, self.now - from)).step).collect()
    }
}

fn older(seen: &Observation, by_ms: u64) -> Observation {
    let mut seen = seen.clone();
    seen.age_ms = seen.age_ms.map(|age| age + by_ms);
    seen.output_age_ms = seen.output_age_ms.map(|age| age + by_ms);
    if let HeartbeatSeen::At { age_ms, .. } = &mut seen.heartbeat {
        *age_ms += by_ms;
    }
    seen
}
