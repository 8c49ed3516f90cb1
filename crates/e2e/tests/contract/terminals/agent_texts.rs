//! Texts for an agent that has a profile: proven by its screen, and by its recorded conversation.

use crate::terminals::agent_setup::{Agent, On, on_both_terminals};
use ostler_e2e::eventually;
use serde_json::Value;

/// It records its conversation.
fn writing(on: On, line: &str) -> Agent {
    let agent = Agent::with(on, line, "");
    let folder = agent.tmux.project.path("claude-config");
    let record = agent.tmux.project.path("record");
    agent.declare(&["./claude", &record, line], &format!("env.CLAUDE_CONFIG_DIR = {folder:?}"));
    agent.tmux.project.up();
    agent
}

/// The messages that the agent recorded.
fn written(agent: &Agent) -> Vec<String> {
    let path = agent.tmux.project.path("claude-config/projects/here/session-1.jsonl");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = |line: &str| -> String {
        let value: Value = serde_json::from_str(line).expect("a line");
        value["message"]["content"].as_str().expect("a text").to_owned()
    };
    text.lines().map(line).collect()
}

on_both_terminals! {
    /// P9: a text is delivered once the agent recorded it in its conversation, once and alone.
    proven: a_receipt_comes_from_the_agents_own_conversation_pty a_receipt_comes_from_the_agents_own_conversation_tmux
}

fn proven(on: On) {
    let agent = writing(on, "hello");
    agent.until("idle");
    for text in ["look at @README.md", "ends in \\", "two\nlines"] {
        let receipt = agent.call(&["nudge", "a", "--json", text]).ok().json();
        assert_eq!(receipt["receipt"], "delivered", "{receipt}");
        assert!(receipt["why"].as_str().expect("a reason").contains("conversation"), "{receipt}");
    }
    assert_eq!(written(&agent), ["look at @README.md", "ends in \\", "two\nlines"]);
}

on_both_terminals! {
    /// P9: a text that left the box and is not in the agent's conversation is not delivered.
    unproven: what_the_agent_did_not_write_down_is_not_delivered_pty what_the_agent_did_not_write_down_is_not_delivered_tmux
}

fn unproven(on: On) {
    let agent = Agent::of(on, "hello");
    agent.until("idle");
    let receipt = agent.call(&["nudge", "a", "--json", "are you there?"]);
    assert_eq!(receipt.code, 1, "{receipt:?}");
    assert_eq!(receipt.json()["receipt"], "not-sent");
}

on_both_terminals! {
    /// T6: a question is not answered by a nudge, and a line that a person has begun is not sent along.
    left: a_question_and_half_a_line_are_left_to_a_person_pty a_question_and_half_a_line_are_left_to_a_person_tmux
}

fn left(on: On) {
    let agent = writing(on, "ask remove everything");
    agent.until_asked("Do you want to remove everything?");
    for words in [&["--mode", "immediate"][..], &["--wake"], &["--interrupt"]] {
        let receipt = agent.call(&[&["nudge", "a", "--json", "hello"], words].concat());
        assert_eq!(receipt.code, 1, "{receipt:?}");
        let receipt = receipt.json();
        assert_eq!(receipt["receipt"], "refused", "{receipt}");
        assert!(
            receipt["why"].as_str().expect("a reason").contains("remove everything"),
            "{receipt}"
        );
    }
    assert!(agent.answers().is_empty());
    agent.until_asked("Do you want to remove everything?");
    agent.call(&["answer", "a", "2"]).ok();
    agent.until("idle");
    agent.type_in("half a line");
    eventually("the line is shown", || {
        agent.call(&["screen", "a"]).ok().text().contains("half a line").then_some(())
    });
    let receipt = agent.call(&["nudge", "a", "--json", "--mode", "immediate", "hello"]);
    assert_eq!((receipt.code, receipt.json()["receipt"].clone()), (1, "refused".into()));
    agent.type_in(" and its end\r");
    eventually("the line was sent alone", || {
        (written(&agent) == ["half a line and its end"]).then_some(())
    });
}

on_both_terminals! {
    /// T7: queued texts are typed when the agent is idle, without a patrol.
    rests: what_waits_is_typed_when_the_agent_comes_to_rest_pty what_waits_is_typed_when_the_agent_comes_to_rest_tmux
}

fn rests(on: On) {
    let agent = writing(on, "hello");
    agent.until("idle");
    agent.type_in("work\r");
    agent.until("working");
    for text in ["first", "second"] {
        let receipt = agent.call(&["nudge", "a", "--json", "--mode", "queue", text]).ok().json();
        assert_eq!(receipt["receipt"], "queued", "{receipt}");
    }
    agent.type_in("\r");
    eventually("both texts arrived", || {
        (written(&agent) == ["work", "first", "second"]).then_some(())
    });
    eventually("both have their receipts", || {
        let listed = agent.call(&["nudge", "--list", "a", "--json"]).ok().json();
        let listed = listed.as_array().expect("a list").clone();
        listed.iter().all(|nudge| nudge["receipt"] == "delivered").then_some(())
    });
}

on_both_terminals! {
    /// P9, T7: a message that the agent puts back into its box at Escape is sent again after the text, and blocks
    /// nothing.
    returned: a_message_that_comes_back_is_said_again_pty a_message_that_comes_back_is_said_again_tmux
}

fn returned(on: On) {
    let agent = writing(on, "hello");
    agent.until("idle");
    agent.type_in("back to work\r");
    agent.until("working");
    let receipt = agent.call(&["nudge", "a", "--json", "--wake", "first this"]).ok().json();
    assert_eq!(receipt["receipt"], "delivered", "{receipt}");
    eventually("both texts arrived", || {
        (written(&agent) == ["back to work", "first this", "back to work"]).then_some(())
    });
}
