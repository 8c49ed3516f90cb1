//! The question to the triage command as text (`triage --dry-run`).

use crate::exit::Failure;
use ostler_patrol::Question;

pub fn question(question: &Question) -> Result<String, Failure> {
    let decision = &question.mechanical;
    let asks = match &question.asks {
        Ok(command) => format!("triage command: {command}"),
        Err(why) => format!("triage command is not run: {why}"),
    };
    let document = serde_json::to_string_pretty(&question.document)?;
    Ok(format!(
        "{}: decision by rules: {}: {}\n  {asks}\n{document}",
        question.agent, decision.step, decision.reason,
    ))
}
