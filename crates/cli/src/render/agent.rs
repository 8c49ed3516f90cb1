//! The display of agents.

use super::paint::Paint;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ostler_model::{AgentState, AgentView, UnitState, UnitView};

/// The state of a unit: the agent's state if the unit runs an agent and its state is known, else the unit's own.
pub fn state_word(view: &UnitView, now_ms: u64) -> String {
    agent_of(view).map_or_else(|| view.state.to_string(), |agent| agent_word(agent, now_ms))
}

pub fn state_paint(view: &UnitView) -> Paint {
    let Some(agent) = agent_of(view) else { return Paint::of(view.state) };
    match agent.state {
        _ if agent.hung_since_ms.or(agent.dead_since_ms).is_some() => Paint::Red,
        AgentState::Waiting | AgentState::Limited => Paint::Yellow,
        AgentState::Starting | AgentState::Working | AgentState::Idle | AgentState::Unknown => {
            Paint::of(view.state)
        }
    }
}

/// The reason of the state; for an agent that waits, its question.
pub fn state_why(view: &UnitView) -> String {
    let asked = agent_of(view).and_then(|agent| match agent.state {
        _ if agent.hung_since_ms.is_some() => None,
        AgentState::Waiting | AgentState::Limited => agent.question.clone(),
        AgentState::Starting | AgentState::Working | AgentState::Idle | AgentState::Unknown => None,
    });
    let parts = [asked.unwrap_or_default(), view.why.clone()];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("; ")
}

/// The agent of a unit that is ready, if the agent's state is known; or of any other unit, if its agent is dead.
pub fn agent_of(view: &UnitView) -> Option<&AgentView> {
    let agent = view.agent.as_deref()?;
    let is_known = agent.state != AgentState::Unknown || agent.hung_since_ms.is_some();
    let is_shown = match view.state {
        UnitState::Ready => is_known,
        _ => agent.dead_since_ms.is_some(),
    };
    is_shown.then_some(agent)
}

/// Since when the agent is in the state that `agent_word` names, if that is known.
pub fn agent_since_ms(agent: &AgentView) -> Option<u64> {
    let since_ms = agent.dead_since_ms.or(agent.hung_since_ms).unwrap_or(agent.since_ms);
    (since_ms > 0).then_some(since_ms)
}

/// `working`, `waiting for you`, `limited until 03:30`, `hung`, `dead`.
pub fn agent_word(agent: &AgentView, now_ms: u64) -> String {
    match (agent.state, agent.until_ms) {
        _ if agent.dead_since_ms.is_some() => "dead".to_owned(),
        _ if agent.hung_since_ms.is_some() => "hung".to_owned(),
        (AgentState::Limited, Some(until_ms)) => {
            format!("limited until {}", clock(until_ms, now_ms))
        }
        (state, _) => state.to_string(),
    }
}

/// The time of day, with the date if it is not within the next 24 hours.
fn clock(at_ms: u64, now_ms: u64) -> String {
    const DAY_MS: u64 = 24 * 3_600_000;
    let is_near = (now_ms..now_ms + DAY_MS).contains(&at_ms);
    let at = Timestamp::from_millisecond(at_ms as i64).unwrap_or_default();
    let form = if is_near { "%H:%M" } else { "%Y-%m-%d %H:%M" };
    at.to_zoned(TimeZone::system()).strftime(form).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_states_are_printed_in_words() {
        let agent = |state, until_ms| AgentView { state, until_ms, ..AgentView::default() };
        let now_ms = 1_700_000_000_000;
        let word = |state, until_ms| agent_word(&agent(state, until_ms), now_ms);
        assert_eq!(word(AgentState::Waiting, None), "waiting for you");
        assert_eq!(word(AgentState::Limited, None), "limited");
        let soon = word(AgentState::Limited, Some(now_ms + 60_000));
        assert_eq!((soon.len(), &soon[..14]), ("limited until 03:30".len(), "limited until "));
        let late = word(AgentState::Limited, Some(now_ms + 90_000_000));
        assert_eq!(late.len(), "limited until 2023-11-16 03:30".len(), "{late}");
        let hung = AgentView { hung_since_ms: Some(1), ..agent(AgentState::Working, None) };
        assert_eq!(agent_word(&hung, now_ms), "hung");
        let dead = AgentView { dead_since_ms: Some(1), ..hung };
        assert_eq!(agent_word(&dead, now_ms), "dead");
        // A program without a profile has no time of its own.
        let hung = AgentView { hung_since_ms: Some(9), ..AgentView::default() };
        assert_eq!(agent_since_ms(&hung), Some(9));
        assert_eq!(agent_since_ms(&AgentView::default()), None);
    }
}
