//! What screens say of agents, until profiles tell it.

use ostler_engine::{AgentSubject, Judge};
use ostler_model::wire::ScreenText;
use ostler_model::{AgentJudged, AgentState};

pub struct Sketch;

const CLAUDE: &str = "claude";

impl Judge for Sketch {
    fn profile(&self, subject: AgentSubject<'_>) -> Option<String> {
        let is_claude = |words: &[String]| {
            let first = words.first().map(String::as_str).unwrap_or_default();
            first.rsplit('/').next() == Some(CLAUDE)
        };
        let is_agent = match subject.agent {
            Some(agent) => agent == CLAUDE,
            None => {
                is_claude(subject.argv) || (subject.tree)().iter().any(|words| is_claude(words))
            }
        };
        is_agent.then(|| CLAUDE.to_owned())
    }

    fn judge(&self, profile: &str, screen: &ScreenText) -> Option<AgentJudged> {
        let find = |test: &dyn Fn(&str) -> bool| screen.lines.iter().find(|line| test(line));
        let of = |state: AgentState, line: &str| AgentJudged {
            profile: profile.to_owned(),
            state,
            evidence: line.trim().to_owned(),
            ..AgentJudged::default()
        };
        if let Some(line) = find(&|line| line.contains("Do you want to")) {
            let question = Some(line.trim().to_owned());
            return Some(AgentJudged { question, ..of(AgentState::Waiting, line) });
        }
        if let Some(line) = find(&|line| line.contains("hit your limit")) {
            let until_ms = line.split_once("resets ").and_then(|(_, clock)| until(clock.trim()));
            let question = Some(line.trim().to_owned());
            return Some(AgentJudged { question, until_ms, ..of(AgentState::Limited, line) });
        }
        if let Some(line) = find(&|line| line.starts_with("✻ ")) {
            return Some(of(AgentState::Working, line));
        }
        if let Some(line) = find(&|line| line.starts_with("❯ ")) {
            return Some(of(AgentState::Idle, line));
        }
        Some(of(AgentState::Unknown, ""))
    }
}

/// `3:30am` or `3:30pm`, the next time it is so late.
fn until(clock: &str) -> Option<u64> {
    let (hour, rest) = clock.split_once(':')?;
    let (minute, half) = rest.split_at_checked(2)?;
    let hour: i8 = hour.parse::<i8>().ok()? % 12 + if half.starts_with("pm") { 12 } else { 0 };
    let now = jiff::Zoned::now();
    let then = now.with().hour(hour).minute(minute.parse().ok()?).second(0).build().ok()?;
    let then = if then > now { then } else { then.tomorrow().ok()? };
    Some(then.timestamp().as_millisecond() as u64)
}
