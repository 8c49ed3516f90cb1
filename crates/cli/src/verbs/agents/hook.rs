//! Turns the event of an agent's hook into a report. A hook must not disturb the agent: on any error it exits with 0
//! and prints nothing, because agents read what their hooks print.

use crate::args::{ReportArguments, ReportedState};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::verbs::report;
use serde_json::Value;
use std::io::Read;

const EVENT_MOST: u64 = 4 << 20;

pub fn hook(context: &Context, name: &str, event: Option<String>) -> Result<Exit, Failure> {
    let text = match event {
        Some(text) => text,
        None => {
            let mut text = String::new();
            let _ = std::io::stdin().take(EVENT_MOST).read_to_string(&mut text);
            text
        }
    };
    let event: Value = serde_json::from_str(&text).unwrap_or_default();
    let report = match name {
        "claude" => claude(&event),
        "codex" => codex(&event),
        _ => None,
    };
    if let Some(report) = report {
        let _ = report::report(context, report);
    }
    Ok(Exit::DONE)
}

fn word(event: &Value, name: &str) -> Option<String> {
    event.get(name)?.as_str().map(str::to_owned)
}

fn of(state: ReportedState, session: Option<String>) -> ReportArguments {
    ReportArguments { state: Some(state), question: None, until_ms: None, session, prompt: None }
}

fn claude(event: &Value) -> Option<ReportArguments> {
    let session = word(event, "session_id");
    Some(match word(event, "hook_event_name")?.as_str() {
        // The agent stores a conversation with its first message; before, it cannot be resumed.
        "SessionStart" => of(ReportedState::Idle, None),
        "Stop" => of(ReportedState::Idle, session),
        "UserPromptSubmit" => {
            let prompt = word(event, "prompt");
            ReportArguments { prompt, ..of(ReportedState::Working, session) }
        }
        "PermissionRequest" => {
            let tool = word(event, "tool_name").unwrap_or_else(|| "a tool".to_owned());
            let question = Some(asked(&tool, event.get("tool_input").unwrap_or(&Value::Null)));
            ReportArguments { question, ..of(ReportedState::Waiting, session) }
        }
        "Notification" => match word(event, "notification_type").as_deref() {
            Some("permission_prompt") => {
                let question = word(event, "message");
                ReportArguments { question, ..of(ReportedState::Waiting, session) }
            }
            Some("idle_prompt") => of(ReportedState::Idle, session),
            Some(_) | None => return None,
        },
        _ => return None,
    })
}

/// The question that the agent asks with a tool, or what the tool would do, in words where they are known.
fn asked(tool: &str, input: &Value) -> String {
    const MOST: usize = 300;
    const TELLING: [&str; 4] = ["command", "file_path", "url", "plan"];
    let questions = input.get("questions").and_then(Value::as_array);
    let questions: Vec<String> = questions.into_iter().flatten().filter_map(with_choices).collect();
    let text = match (questions.is_empty(), input) {
        (false, _) => questions.join(" / "),
        (true, Value::Null) => format!("Allow {tool}?"),
        (true, input) => {
            let told = TELLING.iter().find_map(|name| word(input, name));
            format!("Allow {tool}? {}", told.unwrap_or_else(|| input.to_string()))
        }
    };
    text.chars().take(MOST).collect()
}

fn with_choices(question: &Value) -> Option<String> {
    let text = word(question, "question")?;
    let options = question.get("options").and_then(Value::as_array);
    let labels: Vec<String> =
        options.into_iter().flatten().filter_map(|option| word(option, "label")).collect();
    Some(if labels.is_empty() { text } else { format!("{text} [{}]", labels.join(" / ")) })
}

fn codex(event: &Value) -> Option<ReportArguments> {
    match word(event, "type")?.as_str() {
        "agent-turn-complete" => Some(of(ReportedState::Idle, word(event, "thread-id"))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn events_of_agents_are_mapped_to_reports() {
        let asks = json!({
            "hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash",
            "tool_input": {"command": "rm -rf build"},
        });
        let report = claude(&asks).expect("a report");
        assert!(matches!(report.state, Some(ReportedState::Waiting)));
        assert_eq!(report.question.as_deref(), Some("Allow Bash? rm -rf build"));
        let asks = json!({
            "hook_event_name": "PermissionRequest", "tool_name": "AskUserQuestion", "tool_input": {
                "questions": [{"question": "Which colour?", "options": [{"label": "Red"}, {"label": "Blue"}]}]
            },
        });
        let question = claude(&asks).expect("a report").question;
        assert_eq!(question.as_deref(), Some("Which colour? [Red / Blue]"));
        let asks = json!({
            "hook_event_name": "PermissionRequest", "tool_name": "Other", "tool_input": {"depth": 2},
        });
        let question = claude(&asks).expect("a report").question;
        assert_eq!(question.as_deref(), Some("Allow Other? {\"depth\":2}"));
        let sent =
            json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "hi"});
        assert_eq!(claude(&sent).expect("a report").prompt.as_deref(), Some("hi"));
        assert!(claude(&json!({"hook_event_name": "PreToolUse"})).is_none());
        let session = |name: &str| {
            let event = json!({"hook_event_name": name, "session_id": "s"});
            claude(&event).expect("a report").session
        };
        assert_eq!(session("SessionStart"), None, "nothing of it is stored yet");
        assert_eq!(session("Stop").as_deref(), Some("s"));
        let done = json!({"type": "agent-turn-complete", "thread-id": "t"});
        assert_eq!(codex(&done).expect("a report").session.as_deref(), Some("t"));
        assert!(codex(&json!([1])).is_none());
    }
}
