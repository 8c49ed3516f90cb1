//! Asks a triage command what to do about an agent.
//!
//! The command is a new process each time, in a session of its own. It reads one JSON document from its standard input
//! (`docs/triage-observation.schema.json`) and writes one decision (`docs/triage-decision.schema.json`). If its answer
//! is not valid, the mechanical decision stands and is marked as degraded.

use crate::command::{self, CommandEnd, Question};
use crate::connection::Connector;
use ostler_model::{Acted, Decision, Observation, Purpose, Step, TriageSpec, WatchSpec};
use serde::{Deserialize, Serialize};

pub const VERSION: u32 = 1;

/// The document that the command reads.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TriageInput<'a> {
    pub version: u32,
    pub agent: &'a WatchSpec,
    pub observation: &'a Observation,
    /// The decision that applies without an answer.
    pub mechanical: &'a Decision,
    /// The latest actions for this agent, the newest first.
    pub recent: &'a [Acted],
    /// The allowed answers.
    pub actions: &'a [Step],
}

pub const ACTIONS: &[Step] = &[
    Step::Nothing,
    Step::Start,
    Step::Nudge,
    Step::Wake,
    Step::Interrupt,
    Step::Restart,
    Step::Escalate,
];

/// The document that the command writes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    pub action: Step,
    #[serde(default)]
    pub reason: String,
    /// The text that the agent gets instead of the usual one.
    #[serde(default)]
    pub message: Option<String>,
}

/// The command's decision, or why there is none.
pub fn ask(
    connector: &Connector,
    spec: &TriageSpec,
    asked: &TriageInput<'_>,
) -> Result<Answered, String> {
    let input = serde_json::to_vec(asked).map_err(|error| error.to_string())?;
    let question = Question {
        argv: &spec.argv,
        cwd: &spec.cwd,
        env: vec![("OSTLER_TRIAGE_AGENT".to_owned(), asked.agent.name.clone())],
        input: &input,
        timeout_ms: spec.timeout_ms,
        purpose: Purpose::Triage,
        session: &spec.session,
    };
    match command::ask(connector, &question) {
        Ok(CommandEnd::Ended { code: Some(0), output, .. }) => read(&output),
        Ok(CommandEnd::Ended { code: Some(code), .. }) => {
            Err(format!("triage exited with code {code}"))
        }
        Ok(CommandEnd::Ended { code: None, .. }) => Err("triage was killed by a signal".to_owned()),
        Ok(CommandEnd::TimedOut { .. }) => {
            Err(format!("triage did not answer within {} s", spec.timeout_ms / 1_000))
        }
        Ok(CommandEnd::TooMuch { .. }) => Err("triage wrote more than 1 MiB".to_owned()),
        Ok(CommandEnd::NotStarted { why }) => Err(format!("triage could not be started: {why}")),
        Err(error) => Err(format!("triage could not be run: {error}")),
    }
}

/// Parses the whole output, or its last line that begins with `{`: a model may write other text first.
fn read(output: &[u8]) -> Result<Answered, String> {
    let text = String::from_utf8_lossy(output);
    let text = text.trim();
    if text.is_empty() {
        return Err("triage wrote no output".to_owned());
    }
    let whole = serde_json::from_str::<Answered>(text);
    let last = text.lines().rev().map(str::trim).find(|line| line.starts_with('{'));
    match (whole, last) {
        (Ok(answered), _) => Ok(answered.bounded()),
        (Err(_), Some(line)) => serde_json::from_str::<Answered>(line)
            .map(Answered::bounded)
            .map_err(|error| format!("triage's output is not a decision: {error}")),
        (Err(error), None) => Err(format!("triage's output is not a decision: {error}")),
    }
}

/// Longer texts are cut.
const WORDS_MOST: usize = 4 << 10;

impl Answered {
    fn bounded(mut self) -> Self {
        self.reason = cut(&self.reason);
        self.message = self.message.as_deref().map(cut).filter(|text| !text.trim().is_empty());
        self
    }
}

fn cut(text: &str) -> String {
    text.chars().take(WORDS_MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_decision_may_follow_other_words() {
        let answered =
            read(b"I looked at the pane.\n{\"action\":\"wake\",\"reason\":\"asleep\"}\n");
        assert_eq!(
            answered.map(|it| (it.action, it.reason)),
            Ok((Step::Wake, "asleep".to_owned()))
        );
        assert_eq!(read(b"{\n \"action\": \"nothing\"\n}").map(|it| it.action), Ok(Step::Nothing));
    }

    #[test]
    fn anything_else_is_no_decision() {
        for nonsense in [
            &b""[..],
            b"  \n",
            b"wake",
            b"{\"action\":\"kill\"}",
            b"{\"reason\":\"none\"}",
            b"[1]",
            b"\xff\xfe",
            b"{\"action\":\"wake\"",
        ] {
            assert!(read(nonsense).is_err(), "{:?}", String::from_utf8_lossy(nonsense));
        }
    }

    /// The schema describes every key that is sent, and every value has the described type.
    fn check(schema: &Value, value: &Value, at: &str) {
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            assert!(words.contains(value), "{at}: {value} is none of {words:?}");
        }
        let kinds: Vec<&str> = match schema.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        assert!(kinds.is_empty() || kinds.contains(&kind), "{at} is {kind}, not {kinds:?}");
        if let (Some(described), Value::Object(object)) = (schema.get("properties"), value) {
            for (key, value) in object {
                let inner = described.get(key);
                check(inner.unwrap_or_else(|| panic!("{at}.{key} is not described")), value, key);
            }
        }
        if let (Some(items), Value::Array(list)) = (schema.get("items"), value) {
            list.iter().for_each(|value| check(items, value, at));
        }
    }

    #[test]
    fn the_triage_input_matches_its_schema() {
        let schema: Value =
            serde_json::from_str(include_str!("../../../docs/triage-observation.schema.json"))
                .expect("JSON");
        let agent: WatchSpec = serde_json::from_value(json!({
            "name": "deacon", "role": "deacon", "rig": null, "session": "hq-deacon",
            "heartbeat": "/town/heartbeat.json", "staleMs": 1, "veryStaleMs": 2, "work": ["true"],
            "process": ["claude"],
        }))
        .expect("an agent");
        for heartbeat in [
            json!({"state": "none"}),
            json!({"state": "unreadable", "why": "torn"}),
            json!({"state": "at", "ageMs": 5, "cycle": 1, "lastAction": "scan"}),
        ] {
            for pending in [
                json!({"state": "nothing"}),
                json!({"state": "work", "mail": 1, "nudges": 0, "work": true}),
                json!({"state": "unknown", "why": "no answer"}),
            ] {
                let observation: Observation = serde_json::from_value(json!({
                    "agent": "deacon", "atMs": 5, "session": {"state": "agent-dead", "why": "ended"},
                    "ageMs": 4, "heartbeat": heartbeat, "pending": pending, "busyUntilMs": null,
                    "declared": {"state": "stuck", "reason": "", "atMs": 3}, "outputAgeMs": 5,
                    "screen": 12345678901234567890_u64, "cpuPercent": 1.5, "processes": 2,
                    "tail": "$", "isWanted": true,
                }))
                .expect("an observation");
                let mechanical: Decision = serde_json::from_value(json!({
                    "step": "wake", "health": "agent-hung", "freshness": "very-stale",
                    "reason": "Silent.", "by": {"kind": "mechanical"}, "evidence": {},
                }))
                .expect("a decision");
                let recent: Vec<Acted> = serde_json::from_value(json!([{
                    "atMs": 1, "step": "nudge", "reason": "Stale.", "by": {"kind": "triage"},
                    "outcome": {"state": "done"}, "times": 1,
                }]))
                .expect("what was done");
                let asked = TriageInput {
                    version: VERSION,
                    agent: &agent,
                    observation: &observation,
                    mechanical: &mechanical,
                    recent: &recent,
                    actions: ACTIONS,
                };
                let value = serde_json::to_value(&asked).expect("encodes");
                check(&schema, &value, "asked");
                for required in schema["required"].as_array().expect("a list") {
                    assert!(value.get(required.as_str().expect("a word")).is_some());
                }
            }
        }
    }

    #[test]
    fn every_action_of_the_schema_is_one_that_is_understood() {
        let schema: Value =
            serde_json::from_str(include_str!("../../../docs/triage-decision.schema.json"))
                .expect("JSON");
        let actions = schema["properties"]["action"]["enum"].as_array().expect("a list");
        assert_eq!(actions, json!(ACTIONS).as_array().expect("a list"));
    }
}
