//! Notifies a person: once when a condition begins and once when it ends.

use crate::command::{self, Question};
use crate::connection::Connector;
use crate::plan::Plan;
use ostler_model::{MailDraft, MailKind, PatrolNote, Purpose, What, stable_hash};
use serde_json::{Map, Value};

const HOOK_TIMEOUT_MS: u64 = 20_000;

/// The two edges of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    Begins,
    Over,
}

#[derive(Clone, Debug)]
pub struct Escalation<'a> {
    pub edge: Edge,
    /// The agent, or `None` if the condition concerns all agents.
    pub agent: Option<&'a str>,
    /// A short name of the condition, then a sentence in `why`.
    pub kind: &'a str,
    pub why: &'a str,
    pub since_ms: u64,
    pub evidence: Map<String, Value>,
}

/// Notifies by mail, by the hook and in the journal. True if a notification was delivered; otherwise the next tick
/// tries again.
pub fn notify(connector: &Connector, plan: &Plan, what: &Escalation<'_>) -> (bool, PatrolNote) {
    let about = what.agent.unwrap_or("all agents");
    let (subject, word) = match what.edge {
        Edge::Begins => (format!("ESCALATION: {about}: {}", what.kind), "begins"),
        Edge::Over => (format!("RESOLVED: {about}: {}", what.kind), "over"),
    };
    let evidence = Value::Object(what.evidence.clone());
    let details = serde_json::to_string_pretty(&evidence).unwrap_or_default();
    let body = format!("{}\n\n{details}\n", what.why);
    let draft = MailDraft {
        // The id is stable: the same condition is one message, however often this process dies while sending it.
        id: Some(id(what, word)),
        from: "patrol".to_owned(),
        to: plan.spec.overseer.clone(),
        subject: subject.clone(),
        body,
        kind: MailKind::Escalation,
    };
    let mailed = connector.open().and_then(|mut connection| connection.send(draft));
    let hooked = hook(connector, plan, what, &subject, &evidence);
    let description = mailed.is_ok() || hooked == Some(true);
    let why = match (&mailed, hooked) {
        (Ok(()), None) => format!("{subject}: mail to {}", plan.spec.overseer),
        (Ok(()), Some(true)) => format!("{subject}: mail to {}, and the hook", plan.spec.overseer),
        (Ok(()), Some(false)) => {
            format!("{subject}: mail to {}; the hook failed", plan.spec.overseer)
        }
        (Err(error), _) => format!("{subject}: mail could not be sent: {error}"),
    };
    let what_happened = match what.edge {
        Edge::Begins => What::Escalated,
        Edge::Over => What::EscalationOver,
    };
    let unit = what.agent.map(str::to_owned);
    (description, PatrolNote { unit, what: what_happened, why, evidence: what.evidence.clone() })
}

/// An id has only lower-case letters, digits and dashes. Two conditions always have two ids.
fn id(what: &Escalation<'_>, word: &str) -> String {
    let plain = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
    let name = what.agent.unwrap_or("town");
    let agent: String = name.chars().map(plain).take(12).collect();
    // People refer to a message by the end of its id.
    let whole = format!("{name} {} {} {word}", what.kind, what.since_ms);
    let number = stable_hash(whole.as_bytes()) as u32;
    format!("{agent}-{}-{}-{word}-{number:08x}", what.kind, what.since_ms)
}

fn hook(
    connector: &Connector,
    plan: &Plan,
    what: &Escalation<'_>,
    subject: &str,
    evidence: &Value,
) -> Option<bool> {
    let argv = plan.spec.on_escalation.as_ref()?;
    let edge = match what.edge {
        Edge::Begins => "begins",
        Edge::Over => "over",
    };
    let document = serde_json::json!({
        "subject": subject, "edge": edge, "agent": what.agent, "condition": what.kind, "why": what.why,
        "sinceMs": what.since_ms, "evidence": evidence,
    });
    let input = serde_json::to_vec(&document).unwrap_or_default();
    let question = Question {
        argv,
        cwd: &plan.spec.root,
        env: vec![
            ("OSTLER_ESCALATION".to_owned(), subject.to_owned()),
            ("OSTLER_EDGE".to_owned(), edge.to_owned()),
            ("OSTLER_AGENT".to_owned(), what.agent.unwrap_or_default().to_owned()),
        ],
        input: &input,
        timeout_ms: HOOK_TIMEOUT_MS,
        purpose: Purpose::Escalation,
        session: "",
    };
    let came = command::ask(connector, &question);
    Some(matches!(came, Ok(command::CommandEnd::Ended { code: Some(0), .. })))
}
