//! Carries out a decision. Each action has its own time limit and returns its result.

use crate::connection::Connector;
use crate::nudge::{Before, Mode, NudgeRequest, Refusal, nudge};
use crate::observe;
use crate::orders;
use crate::plan::Plan;
use ostler_client::UnitAsk;
use ostler_model::{
    AgentState, Decision, HeartbeatSeen, Observation, PatrolMemory, Priority, Receipt,
    SessionHealth, SessionSeen, Step, StepOutcome, UnitState, WatchSpec,
};
use std::time::Duration;

/// The sender's name in texts to agents.
pub const SENDER: &str = "patrol";
pub const PING: &str = "HEALTH_CHECK: respond with any action to confirm responsiveness";
pub const FIRST_WORDS: &str = "Begin: check your inbox and your hook for work";
// A shell must not run a part of these texts, so they have no quotes and no sign that a shell expands or that ends a
// command. The profiles recognise a usage limit by its words, so no text has them.
const CHECK_IN: &str =
    "Boot check-in: you have pending work, read your mail with ostler mail check --inject";
const WAKE: &str =
    "Boot wake: you have pending work, read your mail with ostler mail check --inject";
const INTERRUPT: &str = "Boot interrupt: work is pending and no progress was seen, stop what you do and read your mail \
                         with ostler mail check --inject";
pub const LIMIT_OVER: &str = "Your provider accepts requests again: go on where you stopped";
/// How long a session may take to start.
const SETTLE: Duration = Duration::from_secs(40);
const WORDS_LIFE_MS: u64 = 10 * 60_000;

/// What was done, and the result.
#[derive(Clone, Debug)]
pub struct Done {
    pub outcome: StepOutcome,
    pub description: String,
}

fn done(description: impl Into<String>) -> Done {
    Done { outcome: StepOutcome::Done, description: description.into() }
}

fn failed(description: impl Into<String>) -> Done {
    let description = description.into();
    Done { outcome: StepOutcome::Failed(description.clone()), description }
}

fn left(description: impl Into<String>) -> Done {
    let description = description.into();
    Done { outcome: StepOutcome::NotNeeded(description.clone()), description }
}

/// `words` replace the usual text.
pub fn act(
    connector: &Connector,
    plan: &Plan,
    agent: &WatchSpec,
    decision: &Decision,
    before: &Observation,
    words: Option<&str>,
) -> Done {
    let speak =
        |usual: &str, key: Before| speak(connector, agent, words.unwrap_or(usual), key, before);
    let held = match decision.step {
        Step::Nothing | Step::Escalate => Ok(None),
        Step::Start | Step::Nudge | Step::Wake | Step::Interrupt | Step::Restart => {
            connector.open().and_then(|mut connection| orders::held(&mut connection, plan))
        }
    };
    match held {
        Ok(None) => {}
        Ok(Some(why)) => return left(why),
        Err(error) => return failed(ostler_sys::error_chain(&error)),
    }
    match decision.step {
        Step::Nothing => done("no action"),
        Step::Start => start(connector, agent, UnitAsk::Start),
        Step::Nudge if words == Some(LIMIT_OVER) => speak(LIMIT_OVER, Before::LimitOver),
        Step::Nudge => speak(CHECK_IN, Before::Nothing),
        Step::Wake => speak(WAKE, Before::Escape),
        Step::Interrupt => match look_again(connector, plan, agent) {
            // Nothing is known about the agent: it may be working by now.
            Err(why) => failed(format!("it could not be checked again: {why}")),
            Ok(now) => match still_interrupted(before, &now) {
                Ok(()) => speak(INTERRUPT, Before::Interrupt),
                Err(why) => left(why),
            },
        },
        Step::Restart => restart(connector, plan, agent, decision, before),
        // The tick sends the notifications when the condition begins and ends.
        Step::Escalate => done("a person is notified"),
    }
}

/// The result of a message, as data and as text.
pub struct NudgeReport {
    pub receipt: Receipt,
    pub refusal: Option<Refusal>,
    pub words: String,
}

/// For other callers that send a text.
pub fn say(connector: &Connector, agent: &str, text: &str, mode: Mode) -> NudgeReport {
    let speech = NudgeRequest {
        from: SENDER,
        to: agent,
        text,
        mode,
        before: Before::Nothing,
        priority: Priority::Urgent,
        life_ms: Some(WORDS_LIFE_MS),
    };
    match nudge(connector, &speech) {
        Ok(spoken) => NudgeReport {
            receipt: spoken.receipt,
            refusal: spoken.refusal,
            words: format!("its message is {}: {}", word(spoken.receipt), spoken.why),
        },
        Err(error) => NudgeReport {
            receipt: Receipt::Refused,
            refusal: None,
            words: format!("its message could not be typed: {error}"),
        },
    }
}

fn word(receipt: Receipt) -> &'static str {
    match receipt {
        Receipt::Delivered => "delivered",
        Receipt::Queued => "queued",
        Receipt::Expired => "expired",
        Receipt::Refused => "refused",
        Receipt::NotSent => "typed, not sent",
    }
}

fn speak(
    connector: &Connector,
    agent: &WatchSpec,
    text: &str,
    before: Before,
    seen: &Observation,
) -> Done {
    let works = seen.shows.as_ref().is_some_and(|shown| shown.state == AgentState::Working);
    // A hung agent is never idle, so waiting for that would never end.
    let mode = match before {
        // The queued text is typed when the agent is idle; a tick does not wait for that.
        Before::Nothing if works => Mode::Queue,
        Before::Nothing => Mode::WaitIdle,
        Before::Escape | Before::Interrupt | Before::LimitOver => Mode::Immediate,
    };
    speak_as(mode, connector, agent, text, before, seen)
}

fn speak_as(
    mode: Mode,
    connector: &Connector,
    agent: &WatchSpec,
    text: &str,
    before: Before,
    seen: &Observation,
) -> Done {
    let is_known = seen.shows.as_ref().is_some_and(|shown| !shown.profile.is_empty());
    let speech = NudgeRequest {
        from: SENDER,
        to: &agent.name,
        text,
        mode,
        before,
        priority: Priority::Urgent,
        life_ms: Some(WORDS_LIFE_MS),
    };
    match nudge(connector, &speech) {
        Ok(spoken) => {
            let description = format!("{}: {}", word(spoken.receipt), spoken.why);
            match (spoken.receipt, spoken.refusal) {
                (Receipt::Delivered, _) => Done { outcome: StepOutcome::Taken, description },
                (Receipt::Queued, _) => done(description),
                // A question or a begun line says nothing about the agent's health.
                (_, Some(Refusal::Obstacle | Refusal::NotReady | Refusal::NotAPrompt)) => {
                    Done { outcome: StepOutcome::Blocked(description.clone()), description }
                }
                // Without a profile it is unknown what the program does with a text: it may be well.
                (_, Some(Refusal::NotKnown | Refusal::StillThere)) if !is_known => {
                    Done { outcome: StepOutcome::Blocked(description.clone()), description }
                }
                (Receipt::Expired | Receipt::Refused | Receipt::NotSent, _) => failed(description),
            }
        }
        Err(error) => failed(ostler_sys::error_chain(&error)),
    }
}

fn start(connector: &Connector, agent: &WatchSpec, ask: UnitAsk) -> Done {
    let begun = connector.open().and_then(|mut connection| {
        connection.ask_unit(&agent.name, ask)?;
        connection.wait_longer(SETTLE)?;
        connection.settled(&agent.name)
    });
    match begun {
        Ok(Some(view)) if view.state == UnitState::Ready => {
            let pid = view.pid.map_or_else(|| "unknown".to_owned(), |pid| pid.to_string());
            done(format!("running, pid {pid}"))
        }
        Ok(Some(view)) => failed(format!("it is {}: {}", view.state, view.why)),
        Ok(None) => failed("the unit no longer exists"),
        Err(error) => failed(ostler_sys::error_chain(&error)),
    }
}

/// Called just before an action that cannot be undone: triage may have taken a minute.
fn look_again(
    connector: &Connector,
    plan: &Plan,
    agent: &WatchSpec,
) -> Result<Observation, String> {
    let none = PatrolMemory::default();
    let now_ms = ostler_os::wall_ms();
    let again = connector.open().and_then(|mut connection| {
        observe::all(connector, &mut connection, plan, &none, Some(&agent.name), now_ms)
    });
    let sight = again.map_err(|error| ostler_sys::error_chain(&error))?.sights.into_iter().next();
    sight.map(|sight| sight.seen).ok_or_else(|| "it is no longer watched".to_owned())
}

/// True if its screen or its heartbeat changed.
fn has_moved(before: &Observation, now: &Observation) -> bool {
    let has_beaten = match (&before.heartbeat, &now.heartbeat) {
        (
            HeartbeatSeen::At { age_ms: before_ms, cycle: before, .. },
            HeartbeatSeen::At { age_ms, cycle, .. },
        ) => before != cycle || age_ms < before_ms,
        (_, HeartbeatSeen::At { .. }) => true,
        (_, HeartbeatSeen::None | HeartbeatSeen::Missing | HeartbeatSeen::Unreadable { .. }) => {
            false
        }
    };
    has_beaten || (before.screen.is_some() && now.screen.is_some() && before.screen != now.screen)
}

/// Checks that the second look still shows a hang; the error is why the agent is left alone.
fn still_interrupted(before: &Observation, now: &Observation) -> Result<(), String> {
    match &now.session {
        SessionSeen::Alive if has_moved(before, now) => {
            Err("it showed activity in the meantime".to_owned())
        }
        SessionSeen::Alive => Ok(()),
        SessionSeen::Unknown(why) => Err(format!("its state is unknown: {why}")),
        SessionSeen::Foreign => Err("Ostler did not make its session".to_owned()),
        SessionSeen::Asleep(_) => Err("it was suspended in the meantime".to_owned()),
        SessionSeen::Dead | SessionSeen::AgentDead(_) => Err("it ended in the meantime".to_owned()),
    }
}

/// An agent that works again is left alone.
fn restart(
    connector: &Connector,
    plan: &Plan,
    agent: &WatchSpec,
    decision: &Decision,
    before: &Observation,
) -> Done {
    let seen = match look_again(connector, plan, agent) {
        Ok(seen) => seen,
        Err(why) => return failed(why),
    };
    match still_needed(&seen, decision.health, has_moved(before, &seen)) {
        Needed::Start => start(connector, agent, UnitAsk::Start),
        Needed::LastTry => match last_try(connector, agent, &seen) {
            LastTry::Hung(text) => {
                let Done { outcome, description } = start(connector, agent, UnitAsk::Restart);
                Done { outcome, description: format!("{description} (one more text: {text})") }
            }
            LastTry::Reads(description) => Done { outcome: StepOutcome::Taken, description },
            LastTry::Blocked(why) => left(why),
        },
        Needed::Restart => start(connector, agent, UnitAsk::Restart),
        Needed::Nothing(why) => left(why),
    }
}

/// Whether an agent that did not read the earlier texts reads one now.
enum LastTry {
    /// With the result of the text.
    Hung(String),
    Reads(String),
    /// Something on its screen keeps the text away, so it cannot show whether it reads.
    Blocked(String),
}

/// The agent may have been stopped, or starved of the processor, just while the earlier texts were typed. So it gets
/// one more before it is ended.
fn last_try(connector: &Connector, agent: &WatchSpec, seen: &Observation) -> LastTry {
    let text = speak_as(Mode::Immediate, connector, agent, WAKE, Before::Nothing, seen);
    match text.outcome {
        StepOutcome::Taken => LastTry::Reads(format!("it reads again ({})", text.description)),
        StepOutcome::Blocked(why) => LastTry::Blocked(format!("no text can be typed ({why})")),
        StepOutcome::Done | StepOutcome::Failed(_) | StepOutcome::NotNeeded(_) => {
            LastTry::Hung(text.description)
        }
    }
}

/// What is left to do of a restart after the second look.
#[derive(Debug, PartialEq, Eq)]
enum Needed {
    Start,
    /// It is alive and looks hung: a restart, unless it reads one more text.
    LastTry,
    Restart,
    Nothing(String),
}

fn still_needed(seen: &Observation, health: SessionHealth, has_moved: bool) -> Needed {
    let nothing = |why: &str| Needed::Nothing(why.to_owned());
    match (&seen.session, health) {
        (SessionSeen::Foreign, _) => {
            nothing("Ostler did not make its session, so it does not end it")
        }
        (SessionSeen::Unknown(why), _) => Needed::Nothing(format!("its state is unknown: {why}")),
        (SessionSeen::Asleep(_), _) => nothing("it was suspended in the meantime"),
        (SessionSeen::Dead, _) => Needed::Start,
        (SessionSeen::Alive, SessionHealth::AgentDead) => nothing("it works again"),
        (SessionSeen::Alive, SessionHealth::AgentHung) if has_moved => {
            nothing("it showed activity in the meantime")
        }
        (SessionSeen::Alive, SessionHealth::AgentHung) => Needed::LastTry,
        (
            SessionSeen::Alive,
            SessionHealth::Healthy | SessionHealth::SessionDead | SessionHealth::Unknown,
        )
        | (SessionSeen::AgentDead(_), _) => Needed::Restart,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// P9: a text of the patrol that a shell reads runs nothing, and no text looks like a usage limit.
    #[test]
    fn no_text_has_a_sign_that_a_shell_expands() {
        for text in [PING, FIRST_WORDS, CHECK_IN, WAKE, INTERRUPT, LIMIT_OVER] {
            let expanded = |c: char| "`$;|&<>(){}*?~#!\\\"'\n".contains(c);
            assert!(!text.contains(expanded), "{text}");
            assert!(!text.to_lowercase().contains("limit"), "{text}");
        }
    }

    fn seen(session: serde_json::Value) -> Observation {
        serde_json::from_value(json!({
            "agent": "deacon", "atMs": 5, "session": session, "heartbeat": {"state": "none"},
            "pending": {"state": "nothing"}, "tail": "", "isWanted": true,
        }))
        .expect("an observation")
    }

    /// P7: a session whose agent is dead is made anew. An agent that works again is left alone.
    #[test]
    fn an_agent_that_recovered_meanwhile_is_left_alone() {
        let dead = seen(json!({"state": "agent-dead", "why": "ended"}));
        let alive = seen(json!({"state": "alive"}));
        assert_eq!(still_needed(&dead, SessionHealth::AgentDead, false), Needed::Restart);
        let left = still_needed(&alive, SessionHealth::AgentDead, false);
        assert_eq!(left, Needed::Nothing("it works again".to_owned()));
        assert_eq!(still_needed(&alive, SessionHealth::AgentHung, false), Needed::LastTry);
        assert!(matches!(still_needed(&alive, SessionHealth::AgentHung, true), Needed::Nothing(_)));
    }

    /// P3: an interrupt needs a second look with the same result. An agent in an unknown state is left alone.
    #[test]
    fn only_an_agent_that_still_hangs_is_interrupted() {
        let alive = seen(json!({"state": "alive"}));
        assert_eq!(still_interrupted(&alive, &alive), Ok(()));
        let mut beats = alive.clone();
        beats.heartbeat = HeartbeatSeen::At { age_ms: 1, cycle: 2, last_action: String::new() };
        assert_eq!(
            still_interrupted(&alive, &beats),
            Err("it showed activity in the meantime".to_owned())
        );
        for session in [
            json!({"state": "unknown", "why": "silent"}),
            json!({"state": "foreign"}),
            json!({"state": "dead"}),
            json!({"state": "agent-dead", "why": "ended"}),
        ] {
            assert!(still_interrupted(&alive, &seen(session.clone())).is_err(), "{session}");
        }
    }

    /// P3: a session that is not ours, or whose state is unknown, is never ended. A missing session is started.
    #[test]
    fn foreign_and_unknown_sessions_are_not_ended() {
        for session in [json!({"state": "foreign"}), json!({"state": "unknown", "why": "silent"})] {
            for health in [SessionHealth::AgentDead, SessionHealth::AgentHung] {
                let needed = still_needed(&seen(session.clone()), health, false);
                assert!(matches!(needed, Needed::Nothing(_)), "{needed:?}");
            }
        }
        let gone = seen(json!({"state": "dead"}));
        assert_eq!(still_needed(&gone, SessionHealth::AgentHung, false), Needed::Start);
    }
}
