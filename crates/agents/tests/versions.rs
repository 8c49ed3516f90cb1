//! Screens of other versions of the agents, what exactly is asked, and words of a conversation that are no state.

mod captures;

use captures::{judge, judge_lines, profile};
use ostler_agents::DialogKind;
use ostler_model::AgentState;

/// T5: the words of a message, of a person or of Ostler itself, are not the agent's state.
#[test]
fn words_in_the_conversation_do_not_change_the_state() {
    let rule = "─".repeat(120);
    let long = "the docs say:";
    for said in [
        "❯ the docs say: Please run /login first\n\n● Answer 3.".to_owned(),
        "❯ You've hit your limit, says the page\n\n● Answer 3.".to_owned(),
        format!("❯ {long}\n  Please run /login first\n\n● Answer 3."),
        format!("❯ {long}\n  Usage limit reached\n\n● Answer 3."),
    ] {
        let text = format!("{said}\n\n{rule}\n❯ \n{rule}\n  ? for shortcuts");
        let row = text.lines().count() - 3;
        let judged = judge_lines("claude", &text, row, 2);
        assert_eq!(judged.state, AgentState::Idle, "{text}\n{judged:?}");
        assert!(judged.input.is_some());
    }
    for said in ["please document the usage limit of our API", "insufficient_quota is an error"] {
        let bar = format!("  ╹{}", "▀".repeat(100));
        let text = format!(
            "  ┃\n  ┃  {said}\n  ┃\n\n     The usage limit is 5.\n\n  ┃\n  ┃\n  ┃\n  ┃  Build · m1 Mock\n{bar}\n   tab agents"
        );
        let judged = judge_lines("opencode", &text, 7, 5);
        assert_eq!(judged.state, AgentState::Idle, "{judged:?}");
    }
}

/// T5: claude 2.1.328 marks a text of several lines that was pasted. It is the same message, and more than it is not.
#[test]
fn what_an_agent_writes_around_a_pasted_text_is_no_part_of_it() {
    let claude = profile("claude");
    let Some(ostler_agents::Messages::Jsonl { rules, around, .. }) =
        claude.conversation.as_ref().map(|conversation| &conversation.messages)
    else {
        panic!("claude writes lines of JSON");
    };
    let message = |text: &str| {
        let line =
            serde_json::json!({"type": "user", "message": {"role": "user", "content": text}});
        ostler_agents::messages_in(&line.to_string(), rules, around)
    };
    let pasted = "\n\n<pasted_content id=\"7f7a\">\none\ntwo\n</pasted_content id=\"7f7a\">";
    assert_eq!(message(pasted), ["one\ntwo"]);
    let mixed = format!("half a line{pasted}");
    assert!(message(&mixed)[0].starts_with("half a line"));
    assert_eq!(message("one\ntwo"), ["one\ntwo"]);
}

/// T5: a login that is missing, and a limit, are still seen where the agent shows them.
#[test]
fn what_the_agent_shows_itself_is_its_state() {
    let rule = "─".repeat(120);
    for (said, kind) in [
        ("❯ hello\n  ⎿  Please run /login", DialogKind::Login),
        ("❯ hello\n\n● Invalid API key · Fix external API key", DialogKind::Login),
        ("❯ hello\n  ⎿  You've hit your limit · resets 3:30am (UTC)", DialogKind::Limit),
        ("❯ hello\n\n● Claude usage limit reached", DialogKind::Limit),
    ] {
        let text = format!("{said}\n\n{rule}\n❯ \n{rule}\n  ? for shortcuts");
        let row = text.lines().count() - 3;
        let judged = judge_lines("claude", &text, row, 2);
        assert_eq!(judged.dialogue.as_ref().map(|asked| asked.kind), Some(kind), "{text}");
    }
}

/// T5: newer Claude Code runs a text that begins with a slash also behind a blank, so it is refused.
#[test]
fn a_text_that_would_be_a_command_is_refused() {
    let send = &profile("claude").send;
    for text in ["/clear", "  /exit", "\n/help"] {
        assert!(send.typed(text).is_err(), "{text:?}");
    }
    assert_eq!(send.typed("!ls").as_deref(), Ok(" !ls "));
    assert_eq!(send.typed("see /tmp/x").as_deref(), Ok("see /tmp/x "));
}

/// T5: the end of a limit is read with its date, and also where the message is wrapped.
#[test]
fn a_limit_with_a_date_has_its_end() {
    for (state, wanted) in [
        ("api-limit", "2026-11-19T04:14:00Z"),
        ("api-limit-2.1.117", "2026-11-19T04:22:00Z"),
        ("api-limit-2.0.67", "2026-11-19T04:23:00Z"),
    ] {
        let judged = judge("claude", state);
        let ms = judged.until_ms.expect(state);
        let at = jiff::Timestamp::from_millisecond(ms as i64).expect("in range");
        assert_eq!((judged.state, at.to_string()), (AgentState::Limited, wanted.to_owned()));
    }
    let judged = captures::judge_at("codex", "limit-just-over", "2026-11-19T04:20:03[UTC]");
    assert_eq!(judged.until_ms, Some(1_795_062_000_000), "it was over three seconds ago");
}

/// T4: a question is shown with its text and its choices.
#[test]
fn the_text_of_the_question_is_shown() {
    for state in ["ask", "ask-2.1.327"] {
        let asked = judge("claude", state).dialogue.expect(state);
        assert_eq!(asked.text, "☐ Colour / Which colour do you want?");
        let choices = ["1. Red", "2. Blue", "3. Type something.", "4. Chat about this"];
        assert_eq!(asked.choices, choices);
    }
    let asked = judge("claude", "permission-2.1.327").dialogue.expect("a question");
    assert!(asked.text.contains("touch /tmp/t16/w/n1/made"), "{}", asked.text);
    assert!(asked.text.ends_with("Do you want to proceed?"), "{}", asked.text);
    assert_eq!(asked.choices, ["No", "Yes"]);
    let judged = judge("claude", "auto-mode-2.1.327");
    let asked = judged.dialogue.expect("a question");
    assert_eq!(asked.kind, DialogKind::Permission);
    assert_eq!(asked.text, "Auto mode can't check actions in this session");
    let asked = judge("codex", "permission-command").dialogue.expect("a question");
    assert!(asked.text.contains("$ touch /tmp/t16/w/s1/made-askx"), "{}", asked.text);
    assert_eq!(asked.choices.len(), 3);
    let asked = judge("opencode", "permission-folder").dialogue.expect("a question");
    assert!(asked.text.contains("Access external directory /tmp/t16/w/s1"), "{}", asked.text);
    let asked = judge("opencode", "question-a").dialogue.expect("a question");
    assert_eq!(asked.text, "Which colour do you want?");
    assert_eq!(asked.choices, ["1. Red", "2. Blue", "3. Type your own answer"]);
}

/// T5: the empty box of other versions is empty.
#[test]
fn the_input_box_of_other_versions_is_found() {
    for (agent, state) in [
        ("opencode", "idle-1.15.13"),
        ("opencode", "idle-1.2.27"),
        ("codex", "backfill"),
        ("gemini", "idle-fresh"),
    ] {
        let judged = judge(agent, state);
        let text = judged.input.as_ref().map(|input| input.text.as_str());
        assert_eq!((judged.state, text), (AgentState::Idle, Some("")), "{agent} {state}");
    }
}
