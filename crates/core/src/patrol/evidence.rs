//! The facts behind a decision, for the journal and its readers.

use super::case::AgentCase;
use ostler_model::{DeclaredState, HeartbeatSeen, PendingSeen, SessionSeen};
use serde_json::{Map, Value, json};

/// A duration for people.
pub(super) fn span(ms: u64) -> String {
    let seconds = ms / 1_000;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, _) if ms < 1_000 => format!("{ms} ms"),
        (0, 0, s) => format!("{s} s"),
        (0, m, _) => format!("{m} min"),
        (h, 0, _) => format!("{h} h"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

/// Unknown facts are left out.
pub(super) fn evidence(case: &AgentCase) -> Map<String, Value> {
    let (seen, state, sight) = (case.seen, case.state, case.sight());
    let mut map = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            map.insert(name.to_owned(), value);
        }
    };
    let session = match &seen.session {
        SessionSeen::Alive => "alive",
        SessionSeen::AgentDead(_) => "agent-dead",
        SessionSeen::Dead => "dead",
        SessionSeen::Asleep(_) => "asleep",
        SessionSeen::Foreign => "foreign",
        SessionSeen::Unknown(_) => "unknown",
    };
    put("session", Some(json!(session)));
    put("sessionAgeMs", seen.age_ms.map(Value::from));
    match &seen.heartbeat {
        HeartbeatSeen::None => {}
        HeartbeatSeen::Missing => put("heartbeat", Some(json!("missing"))),
        HeartbeatSeen::Unreadable { .. } => put("heartbeat", Some(json!("unreadable"))),
        HeartbeatSeen::At { age_ms, cycle, .. } => {
            put("heartbeatAgeMs", Some(json!(age_ms)));
            put("cycle", Some(json!(cycle)));
        }
    }
    match &seen.pending {
        PendingSeen::Nothing => put("pending", Some(json!("nothing"))),
        PendingSeen::Unknown { .. } => put("pending", Some(json!("unknown"))),
        PendingSeen::Work { mail, nudges, work } => {
            put("pending", Some(json!({ "mail": mail, "nudges": nudges, "work": work })));
            put("pendingMs", Some(json!(sight.pending_ms())));
        }
    }
    put("busyUntilMs", seen.busy_until_ms.map(Value::from));
    put(
        "declared",
        seen.declared.as_ref().map(|said| match said.state {
            DeclaredState::Stuck => json!("stuck"),
            DeclaredState::AwaitingGate => json!("awaiting-gate"),
        }),
    );
    if let Some(shown) = &seen.shows {
        put("shows", Some(json!(shown.state)));
        put("profile", Some(json!(shown.profile)));
        put("question", shown.question.as_ref().map(|question| json!(question)));
        put("limitedUntilMs", shown.until_ms.map(Value::from));
    }
    put("isBegun", seen.is_begun.then_some(json!(true)));
    put("takenAgeMs", seen.taken_age_ms.map(Value::from));
    put("nudged", (state.nudged > 0).then(|| json!(state.nudged)));
    put(
        "cpuFloorPercent",
        state.cpu_floor_percent.map(|floor| json!((floor * 10.0).round() / 10.0)),
    );
    put("outputAgeMs", seen.output_age_ms.map(Value::from));
    put("silentMs", sight.silent_ms().map(Value::from));
    put("screenUnchangedMs", state.screen_since_ms.map(|at| json!(sight.age_of(at))));
    put("cpuPercent", seen.cpu_percent.map(|percent| json!((percent * 10.0).round() / 10.0)));
    if let Some(rung) = &state.rung {
        put("rung", Some(json!(rung.step)));
        put("rungAgeMs", Some(json!(sight.age_of(rung.at_ms))));
    }
    put("restartedAgeMs", state.restarted_at_ms.map(|at| json!(sight.age_of(at))));
    put("backoffUntilMs", state.backoff_until_ms.map(Value::from));
    put("crashLoopSinceMs", state.crash_loop_since_ms.map(Value::from));
    put("massDeathSinceMs", case.town.mass_death.as_ref().map(|event| json!(event.since_ms)));
    map
}
