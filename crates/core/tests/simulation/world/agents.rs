//! Agents on terminals, and the notifications about them.

use super::Simulation;
use crate::random::Random;
use ostler_core::Event;
use ostler_core::agent::AgentEvent;
use ostler_model::{AgentJudged, AgentReport, AgentState, Entry, RunId, What};

const STATES: [AgentState; 6] = [
    AgentState::Starting,
    AgentState::Working,
    AgentState::Idle,
    AgentState::Waiting,
    AgentState::Limited,
    AgentState::Unknown,
];

impl Simulation {
    /// The screen changes, or the agent reports.
    pub(super) fn agent_moves(&self, run: RunId, random: &mut Random) -> Event {
        let state = STATES[random.below(6) as usize];
        let asks = state == AgentState::Waiting && random.chance(90);
        let question = asks.then(|| format!("question {}", random.below(2)));
        let judged = AgentJudged { state, question: question.clone(), ..AgentJudged::default() };
        let changed_mono_ms = self.now.mono_ms.saturating_sub(random.below(400));
        let event = match random.below(10) {
            0 => AgentEvent::Judged { judged: None, changed_mono_ms },
            1..4 => {
                let state = Some(state).filter(|_| random.chance(80));
                AgentEvent::Reported(AgentReport { state, question, ..AgentReport::default() })
            }
            _ => AgentEvent::Judged { judged: Some(judged), changed_mono_ms },
        };
        Event::Agent { run, event }
    }

    /// The operator is not notified twice of one question, even across supervisors.
    pub(super) fn agent_noted(&mut self, entry: &Entry) -> Result<(), String> {
        let Some(run) = entry.run_id else { return Ok(()) };
        let is_units = self.records.get(&run).is_some_and(|record| record.unit.is_some());
        match entry.what {
            What::AgentWaiting | What::AgentLimited if is_units => {
                let question = match entry.what {
                    What::AgentLimited => "a limit".to_owned(),
                    _ => entry.why.clone(),
                };
                if self.asked.get(&run) == Some(&question) {
                    return Err(format!(
                        "the operator is notified twice that {run} asks {question:?}"
                    ));
                }
                self.asked.insert(run, question);
            }
            What::AgentGoesOn => {
                self.asked.remove(&run);
            }
            _ => {}
        }
        Ok(())
    }
}
