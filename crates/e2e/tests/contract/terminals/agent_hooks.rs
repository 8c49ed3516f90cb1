//! Hooks about agents, and agents' own reports.

use crate::daemon::setup::replace_supervisor;
use crate::terminals::agent_setup::{Agent, On, on_both_terminals};
use ostler_e2e::eventually;

const KEPT: &str = "[hooks]\n\
    on_waiting = [\"sh\", \"-c\", \"echo \\\"$OSTLER_UNIT $OSTLER_CONDITION: $OSTLER_WHY\\\" >> told\"]\n\
    on_limited = [\"sh\", \"-c\", \"echo \\\"$OSTLER_UNIT $OSTLER_CONDITION: $OSTLER_WHY\\\" >> told\"]";

fn description(agent: &Agent) -> Vec<String> {
    let text = std::fs::read_to_string(agent.tmux.project.path("told")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[track_caller]
fn until_reported(agent: &Agent, count: usize) -> Vec<String> {
    eventually(&format!("{count} reports"), || {
        let description = description(agent);
        (description.len() == count).then_some(description)
    })
}

on_both_terminals! {
    /// T3: a person is notified of each question once, also across supervisors, and of a limit.
    hooks: hooks_tell_of_each_question_once_pty hooks_tell_of_each_question_once_tmux
}

fn hooks(on: On) {
    let agent = Agent::with(on, "ask go on", "");
    agent.declare_also(KEPT);
    agent.tmux.project.up();
    let first = until_reported(&agent, 1);
    assert!(first[0].starts_with("a waiting: ") && first[0].contains("go on?"), "{first:?}");
    replace_supervisor(&agent.tmux.project.home);
    agent.until_asked("go on?");
    agent.type_in("\u{1b}");
    agent.until("idle");
    assert_eq!(description(&agent).len(), 1, "no hook runs for the end, or twice");
    agent.type_in("ask remove build\r");
    let second = until_reported(&agent, 2);
    assert!(second[1].contains("remove build?"), "{second:?}");
    assert!(second[1].ends_with("[1. Yes / 2. No]"), "{second:?}");
    agent.type_in("1");
    agent.until("idle");
    agent.type_in("ask go on\r");
    until_reported(&agent, 3);
    agent.type_in("1");
    agent.until("idle");
    agent.type_in("limit\r");
    let limited = until_reported(&agent, 4);
    assert!(limited[3].starts_with("a limited: ") && limited[3].contains("limit"), "{limited:?}");
}

/// T2: an agent reports from its own run; the newest report counts, and those of other processes do not.
#[test]
fn an_agent_reports_by_itself() {
    let agent = Agent::with(On::Pty, "still", "");
    let ostler = ostler_e2e::Home::binary();
    let ostler = ostler.to_str().expect("text");
    // A shell reports what is written into a pipe, beside an agent that shows nothing.
    let script = format!(
        "mkfifo words; while read -r words < words; do eval \"'{ostler}' report $words\" 2>> wrong; done & \
         exec ./claude ./record still"
    );
    agent.declare(&["sh", "-c", &script], "agent = \"claude\"");
    agent.tmux.project.up();
    agent.until("unknown");
    let report = |words: &str| {
        std::fs::write(agent.tmux.project.path("words"), format!("{words}\n")).expect("written");
    };
    eventually("the shell reads the pipe", || {
        std::fs::metadata(agent.tmux.project.path("words")).is_ok().then_some(())
    });
    report("--state waiting --question 'May I?' --session abc-1");
    let asks = agent.until_asked("May I?");
    assert_eq!((&asks["source"], &asks["session"]), (&"report".into(), &"abc-1".into()));
    assert_eq!(agent.description("agent-waiting"), 1);
    report("--state working --prompt 'do it'");
    agent.until("working");
    // The screen says something else, later.
    agent.type_in("ask go on\r");
    let asks = agent.until_asked("go on?");
    assert_eq!((&asks["source"], &asks["session"]), (&"screen".into(), &"abc-1".into()));
    // A question that is still on the screen does not end by a report.
    report("--state idle");
    let reports = |agent: &Agent| {
        let run = agent.view()["runId"].clone();
        let mut socket = ostler_e2e::ControlSocket::connect(&agent.tmux.project.home);
        let known = socket.ask("agents.show", serde_json::json!({ "run": run }));
        known["reports"].as_array().map_or(0, Vec::len)
    };
    eventually("the hook ran", || (reports(&agent) == 3).then_some(()));
    agent.until_asked("go on?");
    agent.type_in("1");
    agent.until("idle");
    let wrong = std::fs::read_to_string(agent.tmux.project.path("wrong")).unwrap_or_default();
    assert_eq!(wrong, "");

    let mut socket = ostler_e2e::ControlSocket::connect(&agent.tmux.project.home);
    let run = agent.view()["runId"].clone();
    let known = socket.ask("agents.show", serde_json::json!({ "run": run }));
    let reports = known["reports"].as_array().expect("a list");
    assert_eq!(reports[1]["prompt"], "do it", "{known}");
    assert_eq!(reports.len(), 3, "{known}");

    let report = serde_json::json!({ "run": run, "report": { "state": "waiting" } });
    let (code, description) = socket.refused("agents.report", report);
    assert_eq!(code, "CONFLICT", "{description}");
    assert!(description.contains("only the agent's own processes"), "{description}");
    let refused = agent.call(&["report", "--state", "idle"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("OSTLER_RUN_ID"), "{}", refused.stderr);
}
