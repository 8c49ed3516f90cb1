//! Properties that hold for every observation and every remembered state.

use crate::common::{HOUR, MINUTE, NOW, Watched, order, seen, watch};
use crate::random::Random;
use ostler_core::patrol::{AgentCase, HISTORY_MOST, OrderGiver, admit, decide, lift, stop, trips};
use ostler_model::{
    AgentSeen, AgentState, Decision, Declared, DeclaredState, Edge, HeartbeatSeen, Observation,
    PatrolOrders, PatrolPolicy, PatrolState, PendingSeen, Rung, SessionSeen, Step, TriageAnswer,
    Trouble, TroubleKind, WatchState,
};

const STEPS: [Step; 7] = [
    Step::Nothing,
    Step::Start,
    Step::Nudge,
    Step::Wake,
    Step::Interrupt,
    Step::Restart,
    Step::Escalate,
];

const SHOWN: [AgentState; 6] = [
    AgentState::Starting,
    AgentState::Working,
    AgentState::Idle,
    AgentState::Waiting,
    AgentState::Limited,
    AgentState::Unknown,
];

const KINDS: [TroubleKind; 10] = [
    TroubleKind::Limited,
    TroubleKind::Ignores,
    TroubleKind::Blocked,
    TroubleKind::Waiting,
    TroubleKind::Stalled,
    TroubleKind::Stuck,
    TroubleKind::Unseen,
    TroubleKind::Foreign,
    TroubleKind::Hung,
    TroubleKind::CrashLoop,
];

/// Mostly of realistic size.
fn time(random: &mut Random) -> u64 {
    match random.below(4) {
        0 => random.below(MINUTE),
        1 => random.below(20 * MINUTE),
        2 => random.below(3 * HOUR),
        _ => random.below(72 * HOUR),
    }
}

fn maybe<T>(random: &mut Random, value: impl FnOnce(&mut Random) -> T) -> Option<T> {
    random.chance(60).then(|| value(random))
}

/// Sometimes in the future, as after the clock was set back.
fn moment(random: &mut Random, now: u64) -> u64 {
    let time = time(random);
    if random.chance(5) { now + time } else { now - time }
}

fn some_session(random: &mut Random) -> SessionSeen {
    match random.below(8) {
        0 => SessionSeen::AgentDead("gone".to_owned()),
        1 => SessionSeen::Dead,
        2 => SessionSeen::Foreign,
        3 => SessionSeen::Unknown("no answer".to_owned()),
        4 => SessionSeen::Asleep("it was idle".to_owned()),
        _ => SessionSeen::Alive,
    }
}

fn observation(random: &mut Random, now: u64) -> Observation {
    let mut seen = seen();
    seen.at_ms = now;
    seen.session = some_session(random);
    seen.age_ms = maybe(random, time);
    seen.heartbeat = match random.below(6) {
        0 => HeartbeatSeen::None,
        1 => HeartbeatSeen::Missing,
        2 => HeartbeatSeen::Unreadable { why: "not JSON".to_owned() },
        _ => {
            let (age_ms, cycle) = (time(random), random.below(3));
            HeartbeatSeen::At { age_ms, cycle, last_action: String::new() }
        }
    };
    seen.pending = match random.below(5) {
        0 => PendingSeen::Nothing,
        1 => PendingSeen::Unknown { why: "no answer".to_owned() },
        _ => PendingSeen::Work { mail: 1, nudges: 0, work: false },
    };
    seen.busy_until_ms = random.chance(20).then(|| moment(random, now));
    seen.declared = random.chance(20).then(|| Declared {
        state: if random.chance(70) { DeclaredState::Stuck } else { DeclaredState::AwaitingGate },
        reason: "no key".to_owned(),
        at_ms: moment(random, now),
    });
    seen.output_age_ms = maybe(random, time);
    seen.taken_age_ms = random.chance(20).then(|| time(random));
    seen.shows = random.chance(50).then(|| AgentSeen {
        profile: "claude".to_owned(),
        state: random.pick(&SHOWN).expect("there are some"),
        question: random.chance(50).then(|| format!("question {}", random.below(2))),
        until_ms: random.chance(50).then(|| moment(random, now)),
    });
    seen.is_begun = random.chance(10);
    seen.can_interrupt = random.chance(50);
    seen.screen = maybe(random, |random| random.below(3));
    seen.cpu_percent = maybe(random, |random| random.below(4) as f64 / 2.0);
    seen.dead_age_ms = maybe(random, time);
    seen.wants_again = random.chance(10);
    seen.is_wanted = random.chance(90);
    seen
}

fn memory(random: &mut Random, now: u64) -> WatchState {
    let mut at = |percent: u64| {
        let is_there = random.chance(percent);
        let moment = moment(random, now);
        is_there.then_some(moment)
    };
    let mut state = WatchState {
        screen_at_ms: at(90),
        screen_since_ms: at(60),
        moved_at_ms: at(60),
        typed_at_ms: at(40),
        pending_since_ms: at(80),
        well_since_ms: at(30),
        alive_at_ms: at(80),
        died_at_ms: at(30),
        started_at_ms: at(50),
        restarted_at_ms: at(50),
        backoff_until_ms: at(30),
        crash_loop_since_ms: at(15),
        triage_at_ms: at(30),
        held_at_ms: at(20),
        ..WatchState::default()
    };
    state.screen = maybe(random, |random| random.below(3));
    state.held = random.below(5) as u32;
    state.rung = maybe(random, |random| Rung {
        step: random.pick(&STEPS).expect("there are some"),
        at_ms: moment(random, now),
        cycle: Some(random.below(3)),
    });
    state.condition = random.chance(30).then(|| Trouble {
        what: random.pick(&KINDS).expect("there are some"),
        why: String::new(),
        since_ms: now,
        is_reported: random.chance(70),
        question: random.chance(50).then(|| format!("question {}", random.below(2))),
    });
    state
}

fn town_and_orders(random: &mut Random, now: u64) -> (PatrolState, PatrolOrders) {
    let resumed_at_ms = random.chance(10).then(|| moment(random, now));
    let mut town = PatrolState { resumed_at_ms, ..PatrolState::default() };
    if random.chance(10) {
        let what = TroubleKind::MassDeath;
        town.mass_death = Some(Trouble {
            what,
            why: String::new(),
            since_ms: now,
            is_reported: true,
            question: None,
        });
    }
    if random.chance(30) {
        town.may_start.push("deacon".to_owned());
    }
    let paused = random.chance(5).then(|| order(true));
    let stopped = random.chance(5).then(|| order(true));
    (town, PatrolOrders { paused, stopped, ..PatrolOrders::default() })
}

/// Checks everything that a decision by the ladder or by triage must never do.
fn check(case: &AgentCase, decision: &Decision) -> Result<(), String> {
    let (seen, step) = (case.seen, decision.step);
    let kills = matches!(step, Step::Interrupt | Step::Restart);
    let is_free = case.orders.paused.is_none() && case.orders.stopped.is_none() && seen.is_wanted;
    let description = !decision.reason.is_empty() && decision.evidence.contains_key("session");
    let recently =
        |at: Option<u64>, within: u64| at.is_some_and(|at| case.now_ms.saturating_sub(at) < within);
    let lives = match seen.session {
        SessionSeen::Alive | SessionSeen::Foreign => true,
        SessionSeen::AgentDead(_)
        | SessionSeen::Dead
        | SessionSeen::Asleep(_)
        | SessionSeen::Unknown(_) => false,
    };
    let shows = |state: AgentState| seen.shows.as_ref().is_some_and(|shown| shown.state == state);
    let noise = case.state.cpu_floor_percent.unwrap_or(2.0) * 5.0;
    let computes =
        !shows(AgentState::Idle) && seen.cpu_percent.is_some_and(|percent| percent >= 1.0 + noise);
    let types = matches!(step, Step::Nudge | Step::Wake | Step::Interrupt);
    let is_quiet = matches!(step, Step::Nothing | Step::Escalate);
    let is_drawn = seen.output_age_ms.is_some_and(|age| age < MINUTE)
        && recently(case.state.moved_at_ms.or(case.state.screen_since_ms), 30 * MINUTE);
    let is_busy = seen.busy_until_ms.is_some_and(|until| until > case.now_ms);
    let says_stuck = seen.declared.as_ref().is_some_and(|said| said.state == DeclaredState::Stuck);
    let is_known = seen.shows.is_some() || matches!(seen.heartbeat, HeartbeatSeen::At { .. });
    let rules = [
        (description, "every decision has its reason and its evidence"),
        (is_free || step == Step::Nothing, "orders come first"),
        (
            !matches!(seen.session, SessionSeen::Unknown(_)) || step == Step::Nothing,
            "an unknown session gets no step",
        ),
        (!(seen.session == SessionSeen::Foreign && kills), "a foreign session is never ended"),
        (
            !(lives && kills) || matches!(seen.pending, PendingSeen::Work { .. }),
            "an idle agent is never ended",
        ),
        (!(lives && kills && computes), "an agent that computes is working"),
        (!(lives && shows(AgentState::Waiting)) || is_quiet, "a question is for the operator"),
        (
            !(lives && shows(AgentState::Limited) && case.state.limited_until_ms.is_none())
                || is_quiet,
            "nothing is typed during a limit",
        ),
        (
            !(lives && seen.is_begun && (types || kills)) || case.state.limited_until_ms.is_some(),
            "unsent text is never disturbed",
        ),
        (
            step != Step::Interrupt || seen.can_interrupt,
            "Ctrl-C is sent only if it is known to interrupt",
        ),
        (
            !(lives && kills && shows(AgentState::Working) && is_drawn) || says_stuck,
            "an agent that shows work gets its time",
        ),
        (!(lives && kills && is_busy), "an agent that reported busy gets no step"),
        (
            !(lives && kills && recently(case.state.moved_at_ms, MINUTE)) || says_stuck,
            "an agent with activity is working",
        ),
        (
            !(lives && kills && seen.output_age_ms.is_none() && seen.screen.is_none()),
            "an agent that cannot be observed is never ended",
        ),
        (
            !(seen.session == SessionSeen::Alive && kills) || is_known || says_stuck,
            "an unknown program is not ended for its silence",
        ),
        (
            !(step == Step::Restart
                && recently(case.state.restarted_at_ms, case.policy.restart_cooldown_ms)),
            "not twice within the cooldown",
        ),
        (
            step != Step::Start || seen.session == SessionSeen::Dead,
            "only dead sessions are started",
        ),
        (
            !matches!(step, Step::Start | Step::Restart)
                || case.state.crash_loop_since_ms.is_none(),
            "no start during a crash loop",
        ),
    ];
    match rules.iter().find(|(holds, _)| !holds) {
        Some((_, rule)) => Err(format!("{rule}: {decision:?}")),
        None => Ok(()),
    }
}

/// P3, P4, P8: idle, unknown, foreign and active agents are never ended, whatever the state and the answer of triage
/// are.
#[test]
fn no_sight_and_no_answer_ends_what_must_live() {
    let (watch, policy) = (watch(), PatrolPolicy::default());
    let mut tripped = 0;
    for seed in 0..60_000 {
        let mut random = Random::new(seed);
        let seen = observation(&mut random, NOW);
        let state = memory(&mut random, NOW);
        let (town, orders) = town_and_orders(&mut random, NOW);
        let (state, seen, town, orders) = (&state, &seen, &town, &orders);
        let case =
            AgentCase { seen, state, watch: &watch, policy: &policy, town, orders, now_ms: NOW };
        let mechanical = decide(seen, state, &watch, &policy, town, orders, NOW);
        check(&case, &mechanical).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
        for step in STEPS {
            let answer = TriageAnswer { step, reason: "It looks so.".to_owned() };
            let admitted = admit(&answer, &mechanical, &case);
            check(&case, &admitted).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
        }
        tripped += u32::from(trips(&mechanical));
    }
    assert!(tripped > 100, "the signals trip at all: {tripped}");
}

/// P3: a dead agent that is wanted is started at once, unless a guard, a mass death or an order prevents it.
#[test]
fn the_dead_are_started() {
    let (watch, policy) = (watch(), PatrolPolicy::default());
    let mut started = 0;
    for seed in 0..20_000 {
        let mut random = Random::new(seed);
        let mut seen = observation(&mut random, NOW);
        seen.session = SessionSeen::Dead;
        let state = memory(&mut random, NOW);
        let (town, orders) = town_and_orders(&mut random, NOW);
        let step = decide(&seen, &state, &watch, &policy, &town, &orders, NOW).step;
        let is_hindered = orders.paused.is_some()
            || orders.stopped.is_some()
            || !seen.is_wanted
            || state.crash_loop_since_ms.is_some()
            || (town.mass_death.is_some() && town.may_start.is_empty())
            || state.backoff_until_ms.is_some_and(|until| until > NOW);
        assert!(step == Step::Start || is_hindered, "seed {seed}");
        started += u32::from(step == Step::Start);
    }
    assert!(started > 5_000);
}

/// P12: over any history a condition begins once, is notified again only when it gets graver, and ends once. Restarts
/// keep their distance, crash loops get no starts, and the state stays small.
#[test]
fn histories_keep_their_promises() {
    for seed in 0..1_500 {
        let mut random = Random::new(seed);
        let mut watched = Watched::new();
        let mut restarts: Vec<u64> = Vec::new();
        let mut starts: Vec<u64> = Vec::new();
        let mut kept = observation(&mut random, watched.now);
        for _ in 0..200 {
            if random.chance(15) {
                kept = observation(&mut random, watched.now);
            }
            kept.at_ms = watched.now;
            let now = watched.now;
            let decision = watched.tick(&kept);
            match decision.step {
                Step::Restart => {
                    let near = restarts.last().is_some_and(|at| now - at < 5 * MINUTE);
                    assert!(!near, "seed {seed}: twice within the cooldown");
                    restarts.push(now);
                    starts.push(now);
                }
                Step::Start => starts.push(now),
                Step::Nothing | Step::Nudge | Step::Wake | Step::Interrupt | Step::Escalate => {}
            }
            assert!(watched.state.acted.len() <= HISTORY_MOST);
            let piles = watched
                .state
                .acted
                .windows(2)
                .any(|two| two.iter().all(|act| act.step == Step::Nothing));
            assert!(!piles, "seed {seed}: consecutive no-actions are one entry");
        }
        let mut open: Option<Trouble> = None;
        for edge in &watched.edges {
            match edge {
                Edge::None => {}
                Edge::Begin(trouble) => {
                    let is_news = open.as_ref().is_none_or(|open| {
                        open.what < trouble.what
                            || (open.what == trouble.what && open.question != trouble.question)
                    });
                    assert!(is_news, "seed {seed}: notified twice");
                    open = Some(trouble.clone());
                }
                Edge::End(trouble) => {
                    let what = open.take().map(|open| open.what);
                    assert_eq!(what, Some(trouble.what), "seed {seed}: an end without a begin");
                }
            }
        }
    }
}

/// A stop that a person gave is lifted by a person only, and no agent starts while it stands.
#[test]
fn no_rule_lifts_a_persons_stop() {
    for seed in 0..2_000 {
        let mut random = Random::new(seed);
        let mut orders = PatrolOrders::default();
        let mut is_manual = false;
        for _ in 0..30 {
            let by_person = random.chance(30);
            if random.chance(50) {
                stop(&mut orders, order(by_person));
                is_manual |= by_person;
            } else {
                let who = if by_person { OrderGiver::Person } else { OrderGiver::Rule };
                let is_lifted = lift(&mut orders, who).is_ok();
                assert_eq!(is_lifted, by_person || !is_manual, "seed {seed}");
                is_manual &= !is_lifted;
            }
            assert_eq!(orders.stopped.as_ref().is_some_and(|order| order.is_manual), is_manual);
        }
    }
}
