//! Screens captured from real agents, and how their profiles judge them. The first line of a file has the size, the
//! cursor and the title; the rest is tmux's capture, with colours.

mod captures;

use captures::judge;
use ostler_agents::Judged;
use ostler_model::AgentState;

/// The text in the box; `None` if no box is on the screen.
fn text(judged: &Judged) -> Option<&str> {
    judged.input.as_ref().map(|input| input.text.as_str())
}

fn expect(agent: &str, wanted: AgentState, states: &[&str]) {
    let wrong: Vec<String> = states
        .iter()
        .map(|state| (state, judge(agent, state)))
        .filter(|(_, judged)| judged.state != wanted)
        .map(|(state, judged)| format!("{state}: {judged:?}"))
        .collect();
    assert!(wrong.is_empty(), "{agent}, not {wanted:?}:\n{}", wrong.join("\n"));
}

/// T5
#[test]
fn an_idle_prompt_is_idle() {
    let claude = ["idle-fresh", "idle-after-turn", "half-typed", "half-typed-multiline"];
    expect("claude", AgentState::Idle, &claude);
    expect("claude", AgentState::Idle, &["pasted-60-lines", "typed-long", "stashed", "resumed"]);
    expect("claude", AgentState::Idle, &["ctrl-c-once-idle", "completion-menu-slash"]);
    let codex = ["idle-fresh", "idle-after-turn", "half-typed", "half-typed-multiline"];
    expect("codex", AgentState::Idle, &codex);
    expect("codex", AgentState::Idle, &["pasted-60-lines", "typed-long", "resumed"]);
    let opencode = ["idle-fresh", "idle-after-turn", "half-typed", "half-typed-fresh"];
    expect("opencode", AgentState::Idle, &opencode);
    expect(
        "opencode",
        AgentState::Idle,
        &["half-typed-multiline", "pasted-60-lines", "typed-long"],
    );
}

/// T5
#[test]
fn an_agent_that_works_is_working() {
    let claude = ["busy-silent-a", "busy-silent-long-a", "busy-streaming-a", "busy-tool-a"];
    expect("claude", AgentState::Working, &claude);
    let claude = ["busy-tool-queued", "busy-with-typed-text", "busy-queued-message"];
    expect("claude", AgentState::Working, &claude);
    expect("claude", AgentState::Working, &["rate-limited-retrying-a"]);
    let codex = ["busy-silent-a", "busy-streaming-a", "busy-tool-a", "busy-with-typed-text-a"];
    expect("codex", AgentState::Working, &codex);
    let opencode = ["busy-silent-a", "busy-streaming-a", "busy-tool-a", "busy-with-typed-text-a"];
    expect("opencode", AgentState::Working, &opencode);
}

/// T5: the tips above it are a numbered list too.
#[test]
fn geminis_question_about_a_folder_has_its_own_choices() {
    let judged = judge("gemini", "trust-prompt");
    assert_eq!(judged.state, AgentState::Waiting);
    let asked = judged.dialogue.expect("a question");
    assert!(asked.text.starts_with("Do you trust the files"), "{}", asked.text);
    assert_eq!(asked.choices.len(), 3, "{:?}", asked.choices);
    assert!(asked.choices[0].starts_with("1. Trust folder"), "{:?}", asked.choices);
}

/// T5
#[test]
fn a_question_waits_for_a_person() {
    let claude = ["permission-dialog", "question", "plan-approval", "trust-prompt", "login"];
    expect("claude", AgentState::Waiting, &claude);
    let codex = ["permission-dialog-a", "question-a", "trust-prompt", "hooks-review", "login"];
    expect("codex", AgentState::Waiting, &codex);
    expect("codex", AgentState::Waiting, &["ctrl-c-once-busy-a"]);
    expect("opencode", AgentState::Waiting, &["permission-dialog-a", "question-a"]);
    let asked = judge("claude", "permission-dialog").dialogue.expect("a question");
    assert!(asked.text.contains("touch /tmp/zz-claude-lab"), "{}", asked.text);
    assert!(asked.text.ends_with("Do you want to proceed?"), "{}", asked.text);
    assert_eq!(asked.choices.len(), 3);
    let asked = judge("codex", "permission-dialog-a").dialogue.expect("a question");
    assert!(asked.text.contains("Would you like to run"), "{}", asked.text);
}

/// T5
#[test]
fn a_limit_is_a_state_with_its_end() {
    expect("claude", AgentState::Limited, &["err-spend", "err-credit"]);
    expect("codex", AgentState::Limited, &["usage-limit", "err-usagepro", "err-quota"]);
    expect("opencode", AgentState::Limited, &["usage-limit-a"]);
    let limit = judge("codex", "usage-limit");
    assert_eq!(limit.until_ms, Some(1_794_841_320_000), "3:02 PM");
}

/// T5
#[test]
fn only_a_prompt_is_reported_as_a_prompt() {
    for (agent, state) in [("claude", "starting-1"), ("opencode", "starting")] {
        let judged = judge(agent, state);
        assert_eq!((text(&judged), judged.state), (None, AgentState::Unknown), "{agent} {state}");
    }
    for (agent, state) in [("codex", "exited"), ("opencode", "exited")] {
        assert_eq!(text(&judge(agent, state)), None, "{agent} {state}");
    }
}

/// T5
#[test]
fn what_was_typed_is_read_from_the_box() {
    for agent in ["claude", "codex", "opencode"] {
        assert_eq!(text(&judge(agent, "idle-fresh")), Some(""), "{agent}");
        assert_eq!(text(&judge(agent, "idle-after-turn")), Some(""), "{agent}");
        assert_eq!(text(&judge(agent, "half-typed")), Some("half a sentence"), "{agent}");
        let lines = judge(agent, "half-typed-multiline");
        let lines: Vec<&str> = text(&lines).expect("a box").lines().collect();
        let wanted = match agent {
            "opencode" => ["half a sentence", "second line", "third"],
            _ => ["line one", "line two", "line three"],
        };
        assert_eq!(lines, wanted, "{agent}");
        let pasted = judge(agent, "pasted-60-lines").input.expect("a box");
        assert!(pasted.stand_ins > 0 || pasted.text.ends_with("line 59"), "{agent}: {pasted:?}");
    }
    assert_eq!(text(&judge("opencode", "half-typed-fresh")), Some("half a sentence"));
    assert_eq!(text(&judge("claude", "busy-queued-message")), Some(""), "a placeholder");
}

/// T5
#[test]
fn a_list_of_completions_is_seen() {
    let open = [
        ("claude", "completion-menu-at"),
        ("claude", "completion-menu-slash"),
        ("codex", "completion-menu-at"),
        ("codex", "completion-menu-dollar"),
        ("opencode", "completion-menu-at"),
        ("opencode", "completion-menu-slash"),
    ];
    for (agent, state) in open {
        assert!(judge(agent, state).menu, "{agent} {state}");
    }
    for agent in ["claude", "codex", "opencode"] {
        for state in ["idle-fresh", "idle-after-turn", "half-typed", "typed-long"] {
            assert!(!judge(agent, state).menu, "{agent} {state}");
        }
    }
}

/// T5: agents with less complete profiles.
#[test]
fn the_screens_of_other_agents_are_judged() {
    let idle = ["idle-fresh", "idle-after-turn", "half-typed", "ctrl-c-once-with-text"];
    expect("openclaw", AgentState::Idle, &idle[..3]);
    assert_eq!(text(&judge("openclaw", "half-typed")), Some("half a sentence"));
    assert_eq!(text(&judge("openclaw", "half-typed-multiline")), Some("one\ntwo\n\nend"));
    assert_eq!(text(&judge("openclaw", "idle-after-turn")), Some(""));
    let busy = ["busy-silent-a", "busy-with-typed-text", "busy-refused"];
    expect("openclaw", AgentState::Working, &busy);
    assert_eq!(text(&judge("openclaw", "busy-refused")), Some("queued text"));
    expect("openclaw", AgentState::Waiting, &["permission-dialog-a"]);
    for agent in ["pi", "qwen", "aider"] {
        expect(agent, AgentState::Idle, &idle);
        for state in ["idle-fresh", "idle-after-turn", "ctrl-c-once-with-text"] {
            assert_eq!(text(&judge(agent, state)), Some(""), "{agent} {state}");
        }
        let typed = judge(agent, "half-typed");
        let typed = text(&typed).map(|typed| typed.trim_end_matches(['\u{200b}', ' ']).to_owned());
        assert_eq!(typed.as_deref(), Some("half a sentence"), "{agent}");
        expect(agent, AgentState::Working, &["busy-silent-a", "busy-queued-message"]);
    }
    for agent in ["pi", "qwen"] {
        expect(agent, AgentState::Working, &["busy-with-typed-text", "usage-limit-b"]);
        expect(agent, AgentState::Idle, &["after-escape-busy", "pasted-60-lines"]);
        let pasted = judge(agent, "pasted-60-lines").input.expect("a box");
        assert!(pasted.stand_ins > 0, "{agent}: {pasted:?}");
    }
    // After an interrupt, the message is back in the box of qwen, but not in that of pi.
    assert_eq!(text(&judge("pi", "after-escape-busy")), Some(""));
    let back = judge("qwen", "after-escape-busy");
    assert!(text(&back).is_some_and(|text| text.starts_with("SILENT:20 esc")), "{back:?}");
    expect("qwen", AgentState::Waiting, &["permission-dialog-a"]);
    let asked = judge("qwen", "permission-dialog-a");
    assert_eq!(text(&asked), None);
    assert_eq!(asked.dialogue.expect("a question").choices.len(), 4);
}
