//! P3: every combination of a decision's inputs, written to `table.txt`. Equal branches share a line: a `*` matches
//! every value, and every combination is in exactly one line. `OSTLER_BLESS=1` writes the file again.

use crate::common::{HOUR, MINUTE, NOW, beat, mail, order, seen, watch};
use ostler_core::patrol::decide;
use ostler_model::{
    AgentSeen, AgentState, Declared, DeclaredState, HeartbeatSeen, Observation, PatrolOrders,
    PatrolPolicy, PatrolState, PendingSeen, Rung, SessionSeen, Step, Trouble, TroubleKind,
    WatchState,
};
use std::fmt::Write as _;
use std::path::Path;

const COLUMNS: &[(&str, &[&str])] = &[
    ("session", &["alive", "foreign", "agent-dead", "dead", "asleep", "unknown"]),
    ("town", &["free", "paused", "stopped", "unwanted", "mass-death", "after-gap"]),
    ("said", &["-", "busy", "gate", "stuck"]),
    ("shows", &["-", "working", "asks", "limit", "limit-over", "half-line"]),
    ("age", &["old", "young"]),
    ("heartbeat", &["fresh", "stale", "very-stale", "unknown"]),
    ("moves", &["moves", "spins", "silent", "unseen"]),
    ("work", &["none", "new", "waiting", "unknown"]),
    ("ladder", &["-", "nudge", "wake", "wake-now", "interrupt", "restart", "escalated"]),
    ("guard", &["-", "cooldown", "backoff", "loop", "loop-told", "held"]),
];

fn trouble(what: TroubleKind) -> Trouble {
    Trouble { what, why: String::new(), since_ms: NOW - HOUR, is_reported: true, question: None }
}

fn shown(state: AgentState) -> Option<AgentSeen> {
    let question = (state == AgentState::Waiting).then(|| "Proceed?".to_owned());
    Some(AgentSeen { profile: "claude".to_owned(), state, question, until_ms: None })
}

struct Situation {
    seen: Observation,
    state: WatchState,
    town: PatrolState,
    orders: PatrolOrders,
}

fn situation(words: &[&str]) -> Situation {
    let mut seen = seen();
    let mut state = WatchState {
        screen: Some(7),
        screen_since_ms: Some(NOW - HOUR),
        screen_at_ms: Some(NOW - 3 * MINUTE),
        alive_at_ms: Some(NOW),
        ..WatchState::default()
    };
    let mut town = PatrolState::default();
    let mut orders = PatrolOrders::default();
    let [session, order_word, said, shows, age, heartbeat, moves, work, ladder, guard] = words
    else {
        panic!("there are ten columns")
    };
    seen.session = match *session {
        "alive" => SessionSeen::Alive,
        "foreign" => SessionSeen::Foreign,
        "agent-dead" => SessionSeen::AgentDead("no claude in it".to_owned()),
        "dead" => SessionSeen::Dead,
        "asleep" => SessionSeen::Asleep("it was idle".to_owned()),
        "unknown" => SessionSeen::Unknown("no answer".to_owned()),
        other => panic!("{other}"),
    };
    match *order_word {
        "free" => {}
        "paused" => orders.paused = Some(order(true)),
        "stopped" => orders.stopped = Some(order(true)),
        "unwanted" => seen.is_wanted = false,
        "mass-death" => {
            town.mass_death = Some(trouble(TroubleKind::MassDeath));
            state.died_at_ms = Some(NOW - MINUTE);
        }
        "after-gap" => town.resumed_at_ms = Some(NOW - MINUTE),
        other => panic!("{other}"),
    }
    seen.age_ms = Some(if *age == "old" { 24 * HOUR } else { 30_000 });
    match *said {
        "-" => {}
        "busy" => seen.busy_until_ms = Some(NOW + MINUTE),
        word => {
            let state =
                if word == "gate" { DeclaredState::AwaitingGate } else { DeclaredState::Stuck };
            let reason = "no key".to_owned();
            seen.declared = Some(Declared { state, reason, at_ms: NOW - 20_000 });
        }
    }
    match *shows {
        "-" => {}
        "working" => seen.shows = shown(AgentState::Working),
        "asks" => seen.shows = shown(AgentState::Waiting),
        "limit" => {
            seen.shows = shown(AgentState::Limited);
            state.limited_until_ms = Some(NOW + HOUR);
        }
        "limit-over" => {
            seen.shows = shown(AgentState::Limited);
            state.limited_until_ms = Some(NOW - HOUR);
        }
        "half-line" => seen.is_begun = true,
        other => panic!("{other}"),
    }
    seen.heartbeat = match *heartbeat {
        "fresh" => beat(MINUTE),
        "stale" => beat(10 * MINUTE),
        "very-stale" => beat(20 * MINUTE),
        _ => HeartbeatSeen::Missing,
    };
    match *moves {
        "moves" => (seen.output_age_ms, seen.screen) = (Some(1_000), Some(8)),
        "spins" => seen.output_age_ms = Some(1_000),
        "silent" => {}
        _ => (seen.output_age_ms, seen.screen, seen.cpu_percent) = (None, None, None),
    }
    match *work {
        "none" => {}
        "new" => (seen.pending, state.pending_since_ms) = (mail(), Some(NOW - MINUTE)),
        "waiting" => (seen.pending, state.pending_since_ms) = (mail(), Some(NOW - HOUR)),
        _ => seen.pending = PendingSeen::Unknown { why: "no answer".to_owned() },
    }
    let rung = |step, ago| Some(Rung { step, at_ms: NOW - ago, cycle: Some(42) });
    state.rung = match *ladder {
        "-" => None,
        "nudge" => rung(Step::Nudge, 6 * MINUTE),
        "wake" => rung(Step::Wake, 6 * MINUTE),
        "wake-now" => rung(Step::Wake, MINUTE),
        "interrupt" => rung(Step::Interrupt, 6 * MINUTE),
        "restart" => rung(Step::Restart, 6 * MINUTE),
        _ => {
            state.condition = Some(trouble(TroubleKind::Hung));
            rung(Step::Escalate, 6 * MINUTE)
        }
    };
    match *guard {
        "-" => {}
        "cooldown" => state.restarted_at_ms = Some(NOW - MINUTE),
        "backoff" => state.backoff_until_ms = Some(NOW + MINUTE),
        "held" => (state.held, state.held_at_ms) = (1, Some(NOW - MINUTE)),
        word => {
            state.crash_loop_since_ms = Some(NOW - MINUTE);
            if word == "loop-told" {
                state.condition = Some(trouble(TroubleKind::CrashLoop));
            }
        }
    }
    Situation { seen, state, town, orders }
}

fn step_word(step: Step, what: Option<TroubleKind>) -> u8 {
    match (step, what) {
        (Step::Nothing, _) => 0,
        (Step::Start, _) => 1,
        (Step::Nudge, _) => 2,
        (Step::Wake, _) => 3,
        (Step::Interrupt, _) => 4,
        (Step::Restart, _) => 5,
        (Step::Escalate, None) => 6,
        (Step::Escalate, Some(what)) => 7 + what as u8,
    }
}

const WORDS: &[&str] = &[
    "nothing",
    "start",
    "nudge",
    "wake",
    "interrupt",
    "restart",
    "escalate",
    "escalate limited",
    "escalate ignores",
    "escalate stalled",
    "escalate stuck",
    "escalate unseen",
    "escalate foreign",
    "escalate waiting",
    "escalate hung",
    "escalate crash-loop",
    "escalate mass-death",
];

/// All combinations, in column order.
fn all() -> Vec<u8> {
    let (watch, policy) = (watch(), PatrolPolicy::default());
    let count: usize = COLUMNS.iter().map(|(_, values)| values.len()).product();
    let of = |mut index: usize| {
        let mut words = vec![""; COLUMNS.len()];
        for (word, (_, values)) in words.iter_mut().zip(COLUMNS).rev() {
            *word = values[index % values.len()];
            index /= values.len();
        }
        let Situation { seen, state, town, orders } = situation(&words);
        let decision = decide(&seen, &state, &watch, &policy, &town, &orders, NOW);
        step_word(decision.step, decision.trouble)
    };
    let half = count / 2;
    std::thread::scope(|scope| {
        let first = scope.spawn(|| (0..half).map(of).collect::<Vec<u8>>());
        let second: Vec<u8> = (half..count).map(of).collect();
        let mut all = first.join().expect("no decision panics");
        all.extend(second);
        all
    })
}

/// Values with equal branches share a line.
fn lines(table: &[u8], columns: &[(&str, &[&str])], before: &str, into: &mut String) {
    let Some(((_, values), rest)) = columns.split_first() else {
        writeln!(into, "{before}-> {}", WORDS[table[0] as usize]).expect("a string takes it");
        return;
    };
    let branches: Vec<&[u8]> = table.chunks(table.len() / values.len()).collect();
    let mut groups: Vec<(Vec<&str>, &[u8])> = Vec::new();
    for (value, branch) in values.iter().zip(branches) {
        match groups.iter_mut().find(|(_, other)| *other == branch) {
            Some((names, _)) => names.push(value),
            None => groups.push((vec![value], branch)),
        }
    }
    let is_any = groups.len() == 1;
    for (names, branch) in groups {
        let name = if is_any { "*".to_owned() } else { names.join("|") };
        lines(branch, rest, &format!("{before}{name} "), into);
    }
}

#[test]
fn every_combination_is_decided_as_it_was() {
    let table = all();
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let mut said = format!("{} combinations of:\n{}\n\n", table.len(), names.join(" "));
    lines(&table, COLUMNS, "", &mut said);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/patrol/table.txt");
    if std::env::var_os("OSTLER_BLESS").is_some() {
        std::fs::write(&path, &said).expect("it can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = said.lines().zip(written.lines()).find(|(now, then)| now != then);
    assert!(said == written, "the decisions differ from {}: {differs:?}", path.display());
}
