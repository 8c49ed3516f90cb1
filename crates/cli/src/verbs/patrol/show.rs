//! What would be asked of triage, for people.

use crate::exit::Failure;
use ostler_patrol::Question;

pub fn question(question: &Question) -> Result<String, Failure> {
    let decision = &question.mechanical;
    let asks = match &question.asks {
        Ok(command) => format!("triage would be asked: {command}"),
        Err(why) => format!("triage would not be asked: {why}"),
    };
    let document = serde_json::to_string_pretty(&question.document)?;
    Ok(format!(
        "{}: the mechanical decision is {}: {}\n  {asks}\n{document}",
        question.agent, decision.step, decision.reason,
    ))
}
