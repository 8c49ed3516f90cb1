//! The simulated agents, their failures, and the patrol.

use super::agent::{Agent, Cure, Mode};
use crate::common::{HOUR, MINUTE, NOW, SECOND, TICK};
use crate::random::Random;
use ostler_core::patrol::{
    AgentCase, acted, admit, asked, begin_tick, decide, degraded, escalation, look, mass_death,
    may_ask, trips,
};
use ostler_model::{
    DecidedBy, Decision, Edge, HeartbeatSeen, Observation, PatrolOrders, PatrolPolicy, PatrolState,
    PendingSeen, SessionSeen, Step, StepOutcome, TriageAnswer, TriageSpec, WatchState,
};
use std::collections::BTreeMap;

const AGENTS: usize = 20;
const DAYS: u64 = 30;

#[derive(Clone, Debug, Default)]
pub struct Report {
    pub seed: u64,
    pub ticks: u64,
    pub triage_ticks: u64,
    pub deaths: u64,
    pub hangs: u64,
    pub restarts: u64,
    pub mass_deaths: u64,
    pub begun: u64,
    pub ended: u64,
}

pub struct Town {
    seed: u64,
    random: Random,
    agents: Vec<Agent>,
    states: BTreeMap<String, WatchState>,
    state: PatrolState,
    orders: PatrolOrders,
    policy: PatrolPolicy,
    triage: TriageSpec,
    /// The clock as it is set, which may differ from the real time.
    now: u64,
    jumped_at: u64,
    /// For each agent, the number of ticks at which help was due and missing.
    late: Vec<u32>,
    report: Report,
}

impl Town {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let agents =
            (0..AGENTS).map(|n| Agent::new(&format!("agent-{n:02}"), &mut random, NOW)).collect();
        let triage = TriageSpec {
            argv: vec!["triage".to_owned()],
            cwd: "/town".to_owned(),
            session: "gt-boot".to_owned(),
            timeout_ms: MINUTE,
            cooldown_ms: 30 * MINUTE,
            daily_budget: 20,
        };
        Self {
            seed,
            random,
            agents,
            states: BTreeMap::new(),
            state: PatrolState::default(),
            orders: PatrolOrders::default(),
            policy: PatrolPolicy::default(),
            triage,
            now: NOW,
            jumped_at: NOW,
            late: vec![0; AGENTS],
            report: Report { seed, ..Report::default() },
        }
    }

    pub fn thirty_days(mut self) -> Report {
        for _ in 0..DAYS * 24 * HOUR / TICK {
            // Ticks come irregularly.
            let span = TICK + self.random.below(4 * SECOND);
            self.now += span;
            self.accidents(span);
            for agent in &mut self.agents {
                agent.goes_on(&mut self.random, self.now, span);
            }
            self.tick();
        }
        self.report
    }

    fn accidents(&mut self, span: u64) {
        if self.random.below(3_000) == 0 {
            let by = self.random.below(3 * HOUR);
            self.now = if self.random.chance(50) { self.now + by } else { self.now - by };
            self.jumped_at = self.now;
        }
        let at = self.now - self.random.below(span).min(TICK);
        if self.random.below(3_000) == 0 {
            let count = 3 + self.random.below(AGENTS as u64 - 3) as usize;
            for agent in self.agents.iter_mut().take(count).filter(|agent| agent.lives()) {
                agent.dies(Mode::Dead, at - self.random.below(10 * SECOND));
            }
        }
        for agent in &mut self.agents {
            if !agent.lives() {
                continue;
            }
            match self.random.below(7_200) {
                0..=4 => agent.dies(Mode::Dead, at),
                5..=7 => agent.dies(Mode::AgentDead, at),
                8 if !agent.is_hung() => {
                    self.report.hangs += 1;
                    agent.hangs(&mut self.random, self.now);
                }
                9..=50 => agent.gets_work(self.now),
                _ => continue,
            }
            self.report.deaths += u64::from(!agent.lives());
        }
    }

    fn observe(&mut self, place: usize) -> Observation {
        let mut seen = self.agents[place].seen(&mut self.random, self.now);
        if self.random.below(200) == 0 {
            seen.session = SessionSeen::Unknown("no answer in time".to_owned());
        }
        if self.random.below(100) == 0 {
            seen.pending = PendingSeen::Unknown { why: "no answer in time".to_owned() };
        }
        seen
    }

    fn tick(&mut self) {
        begin_tick(&mut self.state, TICK, &self.policy, self.now);
        let seen: Vec<Observation> = (0..AGENTS).map(|place| self.observe(place)).collect();
        for (agent, seen) in self.agents.iter().zip(&seen) {
            let state = self.states.entry(agent.watch.name.clone()).or_default();
            look(state, seen, &agent.watch, &self.policy, &self.orders, self.now);
        }
        match mass_death(&mut self.state, &self.states, &self.policy, &self.orders, self.now) {
            Edge::None => {}
            Edge::Begin(_) => {
                self.report.mass_deaths += 1;
                self.state.mass_death.as_mut().expect("it began").is_reported = true;
            }
            Edge::End(_) => {}
        }
        let asked_before = self.state.triage_asked;
        let day_before = self.state.triage_day.clone();
        for (place, seen) in seen.iter().enumerate() {
            self.one(place, seen);
        }
        let was_asked =
            asked_before != self.state.triage_asked || day_before != self.state.triage_day;
        self.report.triage_ticks += u64::from(was_asked);
        self.report.ticks += 1;
    }

    fn one(&mut self, place: usize, seen: &Observation) {
        let name = seen.agent.clone();
        let mut state = self.states.remove(&name).expect("it was observed");
        let decision = self.decide(place, seen, &mut state);
        self.check(place, seen, &state, &decision);
        match escalation(&mut state, &decision, seen, &self.policy, self.now) {
            Edge::None => {}
            Edge::Begin(_) => self.report.begun += 1,
            Edge::End(_) => self.report.ended += 1,
        }
        let (agent, random, now) = (&mut self.agents[place], &mut self.random, self.now);
        let outcome = match decision.step {
            Step::Nothing | Step::Escalate => StepOutcome::Done,
            Step::Nudge => agent.is_spoken_to(None, random, now),
            Step::Wake => agent.is_spoken_to(Some(Cure::Wake), random, now),
            Step::Interrupt => agent.is_spoken_to(Some(Cure::Interrupt), random, now),
            Step::Start | Step::Restart => {
                self.report.restarts += 1;
                agent.starts(random, now);
                StepOutcome::Done
            }
        };
        acted(&mut state, &decision, &outcome, seen, &self.policy, now);
        self.states.insert(name, state);
    }

    fn decide(&mut self, place: usize, seen: &Observation, state: &mut WatchState) -> Decision {
        let (watch, now) = (&self.agents[place].watch, self.now);
        let mechanical = decide(seen, state, watch, &self.policy, &self.state, &self.orders, now);
        if !trips(&mechanical) || may_ask(&self.triage, state, &self.state, now).is_err() {
            return mechanical;
        }
        asked(state, &mut self.state, now);
        let step = match self.random.below(4) {
            0 => return degraded(&mechanical, "it printed nothing"),
            1 if self.random.chance(20) => Step::Nothing,
            1 => Step::Restart,
            2 => Step::Interrupt,
            _ => mechanical.step,
        };
        let answer = TriageAnswer { step, reason: "It looks so.".to_owned() };
        let (policy, town, orders) = (&self.policy, &self.state, &self.orders);
        let case = AgentCase { seen, state, watch, policy, town, orders, now_ms: now };
        admit(&answer, &mechanical, &case)
    }

    fn check(&mut self, place: usize, seen: &Observation, state: &WatchState, made: &Decision) {
        let (agent, step) = (&self.agents[place], made.step);
        let description = || format!("seed {}, {:?}: {made:?}", self.seed, agent.mode);
        // A program with neither a profile nor a heartbeat is a person's.
        let is_judged = seen.shows.is_some() || matches!(seen.heartbeat, HeartbeatSeen::At { .. });
        let may_end = agent.is_hung() && agent.has_work && is_judged;
        match step {
            Step::Interrupt => assert!(may_end, "{}", description()),
            Step::Restart => assert!(may_end || agent.mode == Mode::AgentDead, "{}", description()),
            Step::Start => assert!(agent.mode == Mode::Dead, "{}", description()),
            Step::Nudge | Step::Wake => assert!(agent.mode != Mode::Asking, "{}", description()),
            Step::Nothing | Step::Escalate => {}
        }
        let is_guarded = state.crash_loop_since_ms.is_some()
            || state.backoff_until_ms.is_some_and(|until| until > self.now)
            || self.state.mass_death.is_some()
            || state.held > 0
            || made.by == DecidedBy::Triage;
        let is_known = !matches!(seen.session, SessionSeen::Unknown(_))
            && !matches!(seen.pending, PendingSeen::Unknown { .. });
        let is_due = if agent.lives() { may_end && self.is_evident(agent, state) } else { true };
        let is_helped = matches!(step, Step::Start | Step::Restart);
        if is_helped || !is_due {
            self.late[place] = 0;
        } else if is_known && !is_guarded {
            self.late[place] += 1;
        }
        let most = if agent.lives() { 3 } else { 1 };
        assert!(self.late[place] <= most, "no help: {} {state:?}", description());
    }

    /// Whether the evidence of a hang is complete.
    fn is_evident(&self, agent: &Agent, state: &WatchState) -> bool {
        let worked_ms = state.pending_since_ms.map_or(0, |at| self.now.saturating_sub(at));
        agent.late_ms(self.now) > agent.watch.very_stale_ms
            && agent.silent_ms(self.now) > self.policy.progress_ms
            && worked_ms >= agent.watch.stale_ms
            && self.now.saturating_sub(self.jumped_at) > HOUR
    }
}
