//! What the screen shows about the agent, for the patrol.

use crate::nudge::Agent;
use crate::screen::digest;
use ostler_agents::cautious::{self, Obstacle};
use ostler_agents::{AfterKey, Judged, Profile};
use ostler_model::ScreenText;
use ostler_model::{AgentSeen, AgentState};

/// The result of one look at a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Changes when something new is on the screen.
    pub digest: u64,
    pub agent: Option<AgentSeen>,
    pub is_begun: bool,
    pub can_interrupt: bool,
}

pub fn shown(agent: Option<&Agent>, screen: &ScreenText) -> Shown {
    match agent {
        Some(agent) => known(agent, screen),
        None => unknown(screen),
    }
}

fn known(agent: &Agent, screen: &ScreenText) -> Shown {
    let judged = agent.judge(screen);
    let keys = &agent.profile.keys;
    let interrupts = [keys.interrupt.busy, keys.escape.busy].contains(&AfterKey::Interrupts);
    Shown {
        digest: digest(&still(&agent.profile, &judged, screen)),
        is_begun: judged.state == AgentState::Idle
            && judged.input.as_ref().is_some_and(|input| !input.is_empty()),
        can_interrupt: judged.state == AgentState::Working && interrupts,
        agent: Some(AgentSeen {
            profile: judged.profile,
            state: judged.state,
            question: judged.dialogue.map(|asked| asked.text),
            until_ms: judged.until_ms,
        }),
    }
}

/// The lines without typed input and without those that only show that the agent is working. Of the latter the token
/// count is kept: it grows only when the model sends something.
fn still(profile: &Profile, judged: &Judged, screen: &ScreenText) -> Vec<String> {
    let is_typed = |row: usize| {
        judged.input.as_ref().is_some_and(|input| (input.top..=input.bottom).contains(&row))
    };
    let is_busy = |line: &str| profile.busy.iter().any(|mark| mark.is_match(line));
    let lines = screen.lines.iter().enumerate().filter(|(row, _)| !is_typed(*row));
    lines.map(|(_, line)| if is_busy(line) { tokens(line) } else { line.clone() }).collect()
}

/// The number in `12.3k tokens`, in letters, because digits do not count as a change.
fn tokens(line: &str) -> String {
    let Some((before, _)) = line.split_once(" tokens") else { return String::new() };
    let number = before.rsplit(' ').next().unwrap_or_default();
    let letter = |c: char| c.to_digit(10).and_then(|d| char::from_digit(d + 10, 36)).unwrap_or(c);
    number.chars().map(letter).collect()
}

fn unknown(screen: &ScreenText) -> Shown {
    let (question, is_begun) = match cautious::obstacle(screen) {
        Some(Obstacle::Asks(asked)) => (Some(asked.text), false),
        Some(Obstacle::Begun) => (None, true),
        Some(Obstacle::Works) | None => (None, false),
    };
    let agent = question.map(|question| AgentSeen {
        profile: String::new(),
        state: AgentState::Waiting,
        question: Some(question),
        until_ms: None,
    });
    Shown { digest: digest(&screen.lines), agent, is_begun, can_interrupt: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_count_as_a_change_and_seconds_do_not() {
        assert_eq!(tokens("✻ Baking… (19s · ↓ 12 tokens)"), "bc");
        assert_ne!(
            tokens("✻ Baking… (19s · ↓ 12 tokens)"),
            tokens("✻ Baking… (20s · ↓ 13 tokens)")
        );
        assert_eq!(tokens("✻ Baking… (19s)"), "");
    }
}
