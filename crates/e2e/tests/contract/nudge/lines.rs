//! Texts of several lines for a program that has no profile.

use crate::nudge::setup::{Kept, Town, in_every_terminal};
use crate::units::setup::Project;
use ostler_e2e::Signal;

in_every_terminal! {
    /// P9: a text of several lines that was not sent is removed completely, also if Ctrl-U clears only one line.
    several_lines: a_text_of_several_lines_is_taken_back_in_our_terminal a_text_of_several_lines_is_taken_back_in_tmux
}

fn several_lines(kept: Kept) {
    let town = Town::new(kept, &["paste", "box", "deaf=HERE/go"]);
    let answer = town.say("one\ntwo\n\nthe end", &["--mode", "immediate"]);
    assert_eq!(answer["receipt"], "refused", "{answer}");
    assert!(answer["why"].as_str().expect("a reason").contains("cleared"), "{answer}");
    std::fs::write(town.project.path("go"), "").expect("a file");
    assert_eq!(town.say("next", &["--mode", "immediate"])["receipt"], "delivered");
    town.until_received("next");
    assert_eq!(town.received(), ["next"]);
}

in_every_terminal! {
    /// P9: a text that cannot be removed is reported, and nothing is typed after it while it is there.
    left_behind: nothing_joins_what_is_left_in_our_terminal nothing_joins_what_is_left_in_tmux
}

fn left_behind(kept: Kept) {
    let town = Town::new(kept, &["paste", "box", "stubborn", "deaf=HERE/go"]);
    let answer = town.say("one\ntwo\n\nthe end", &["--mode", "immediate"]);
    assert_eq!(answer["receipt"], "not-sent", "{answer}");
    std::fs::write(town.project.path("go"), "").expect("a file");
    for words in [&["--mode", "immediate"][..], &[]] {
        let answer = town.say("next", words);
        assert_ne!(answer["receipt"], "delivered", "{answer}");
        let why = answer["why"].as_str().expect("a reason").to_owned();
        assert!(why.contains("earlier text") && why.contains("one"), "{answer}");
    }
    assert!(town.received().is_empty(), "{:?}", town.received());
    // A person presses Ctrl-C, which clears it.
    town.type_by_hand("\x03");
    town.until_received("interrupted");
    // The text that waited comes first.
    assert_eq!(town.say("after", &[])["receipt"], "delivered");
    town.until_received("after");
    assert_eq!(town.received(), ["interrupted", "next", "after"]);
}

in_every_terminal! {
    /// P9: the lines of a `nudge` that was killed before Enter are not sent with the next text.
    half_done_lines: half_a_text_of_several_lines_in_our_terminal half_a_text_of_several_lines_in_tmux
}

fn half_done_lines(kept: Kept) {
    let town = Town::new(kept, &["paste", "box", "deaf=HERE/go"]);
    let words = ["nudge", "agent", "--mode", "immediate", "half\na text\nof lines"];
    let speaking = town.project.spawn(&words);
    let run = town.project.view("agent")["runId"].as_str().expect("a run").to_owned();
    town.project.home.until_logged(&run, "of lines");
    speaking.signal(Signal::KILL);
    drop(speaking);
    std::fs::write(town.project.path("go"), "").expect("a file");
    assert_eq!(town.say("another", &["--mode", "immediate"])["receipt"], "delivered");
    assert_eq!(town.received(), ["another"]);
}

in_every_terminal! {
    /// P9, R10: no text is added to a person's text of several lines, though the line with the cursor is empty.
    begun_lines: lines_that_a_person_has_begun_in_our_terminal lines_that_a_person_has_begun_in_tmux
}

fn begun_lines(kept: Kept) {
    let town = Town::new(kept, &["paste", "box"]);
    let run = town.project.view("agent")["runId"].as_str().expect("a run").to_owned();
    town.type_by_hand("\x1b[200~my own line\n\x1b[201~");
    town.project.home.until_logged(&run, "my own line");
    let answer = town.say("hello", &["--mode", "immediate"]);
    assert_eq!(answer["receipt"], "refused", "{answer}");
    assert!(answer["why"].as_str().expect("a reason").contains("may continue a text"), "{answer}");
    assert_eq!(town.say("hello", &[])["receipt"], "queued");
    assert!(town.received().is_empty(), "{:?}", town.received());
}

/// A unit in a terminal with a common program.
fn shell(kept: Kept, command: &str) -> Project {
    let project = Project::new();
    let backend = match kept {
        Kept::Own => "pty",
        Kept::Tmux => "tmux",
    };
    project.declare(&[("agent", &format!("command = {command}\nbackend = {backend:?}"))]);
    project.up();
    project
}

in_every_terminal! {
    /// P9: a shell's empty prompt is free, and Escape is not pressed there.
    at_a_shell: a_shell_takes_a_text_in_our_terminal a_shell_takes_a_text_in_tmux
}

fn at_a_shell(kept: Kept) {
    let project = shell(kept, r#"["bash", "--norc", "-i"]"#);
    for words in [&["echo one > heard"][..], &["--wake", "echo two >> heard"]] {
        let output = project.call(&[&["nudge", "agent", "--raw", "--json"], words].concat());
        assert_eq!(output.json()["receipt"], "delivered", "{output:?}");
    }
    assert_eq!(project.until_lines("heard", 2), 2);
}

in_every_terminal! {
    /// P9: a question in words is not answered, though the program is unknown.
    at_a_question: a_question_in_words_is_not_answered_in_our_terminal a_question_in_words_is_not_answered_in_tmux
}

fn at_a_question(kept: Kept) {
    let script = r#"["bash", "-c", "read -p 'Your choice (1 deletes all): ' x; echo $x > heard; sleep 1000"]"#;
    let project = shell(kept, script);
    let run = project.view("agent")["runId"].as_str().expect("a run").to_owned();
    project.home.until_logged(&run, "deletes all");
    let output = project.call(&["nudge", "agent", "--mode", "immediate", "--json", "hello"]);
    assert_eq!(output.json()["receipt"], "refused", "{output:?}");
    assert_eq!(project.lines("heard"), 0);
}

/// P9: after a program that discards its unread input, a free prompt of a terminal in line mode takes the next
/// text.
#[test]
fn a_program_that_discards_its_input_gets_the_next_text() {
    let project = Project::new();
    let (received, busy) = (project.path("heard"), project.path("busy"));
    let script = format!(
        "printf '>>> '; while IFS= read -r line; do echo \"$line\" >> {received}; [ -e {busy} ] && {{ stty -echo; echo busy; sleep 2; \
         python3 -c 'import termios; termios.tcflush(0, termios.TCIFLUSH)'; stty echo; }}; printf '>>> '; done"
    );
    let body = format!("command = [\"sh\", \"-c\", {script:?}]\nbackend = \"pty\"");
    project.declare(&[("agent", &body)]);
    project.up();
    let run = project.view("agent")["runId"].as_str().expect("a run").to_owned();
    project.home.until_logged(&run, ">>> ");
    let town = Town { project };
    let lines = || std::fs::read_to_string(&received).unwrap_or_default();
    std::fs::write(&busy, "").expect("a file");
    // It hides its input as soon as it has read this text, so the receipt may be uncertain.
    town.say("first", &[]);
    ostler_e2e::eventually("the first text is read", || lines().contains("first").then_some(()));
    // It discards this text.
    town.say("second", &["--mode", "immediate"]);
    std::fs::remove_file(&busy).expect("removed");
    town.project.home.until_logged(&run, "busy\r\n>>> ");
    town.type_by_hand("by hand\n");
    ostler_e2e::eventually("a person's line is read", || lines().contains("by hand").then_some(()));
    let description = town.say("third", &[]);
    assert_eq!(description["receipt"], "delivered", "{description}");
    ostler_e2e::eventually("the text is read alone", || {
        lines().lines().any(|line| line == "third").then_some(())
    });
}

in_every_terminal! {
    /// P9: an editor may have its cursor in an empty line: nothing is typed there, because its keys are commands.
    in_an_editor: an_editor_gets_no_text_in_our_terminal an_editor_gets_no_text_in_tmux
}

fn in_an_editor(kept: Kept) {
    let script = r#"["bash", "-c", "stty raw -echo; printf '\\033[2J\\033[2;1H~\\r\\n~\\r\\n~ drawn\\033[H'; cat > heard"]"#;
    let project = shell(kept, script);
    let run = project.view("agent")["runId"].as_str().expect("a run").to_owned();
    project.home.until_logged(&run, "~ drawn");
    let answer = project.call(&["nudge", "agent", "--mode", "immediate", "--json", "ZQ is a name"]);
    let answer = answer.json();
    assert_eq!(answer["receipt"], "refused", "{answer}");
    assert!(answer["why"].as_str().expect("a reason").contains("no prompt"), "{answer}");
    assert_eq!(std::fs::read(project.path("heard")).unwrap_or_default(), b"");
}

in_every_terminal! {
    /// P9: if typing filters a list, Enter would choose an entry: the text is removed.
    in_a_list: a_list_that_is_filtered_is_not_answered_in_our_terminal a_list_that_is_filtered_is_not_answered_in_tmux
}

fn in_a_list(kept: Kept) {
    let town = Town::new(kept, &["list"]);
    let answer = town.say("delete", &["--mode", "immediate", "--raw"]);
    assert_eq!(answer["receipt"], "refused", "{answer}");
    let why = answer["why"].as_str().expect("a reason");
    assert!(why.contains("reacts to what is typed") && why.contains("cleared"), "{answer}");
    assert!(town.received().is_empty(), "{:?}", town.received());
}

in_every_terminal! {
    /// P9: hidden input belongs to a person: no text is typed, and no key is pressed.
    hidden: a_hidden_input_is_left_alone_in_our_terminal a_hidden_input_is_left_alone_in_tmux
}

fn hidden(kept: Kept) {
    let script = r#"["bash", "-c", "read -s -p 'token> ' x; echo $x > heard; sleep 1000"]"#;
    let town = Town { project: shell(kept, script) };
    let run = town.project.view("agent")["runId"].as_str().expect("a run").to_owned();
    town.project.home.until_logged(&run, "token> ");
    town.type_by_hand("hunt");
    let answer = town.say("hello", &["--mode", "immediate"]);
    assert_eq!(answer["receipt"], "refused", "{answer}");
    assert!(answer["why"].as_str().expect("a reason").contains("hidden"), "{answer}");
    assert_eq!(town.say("hello", &[])["receipt"], "queued");
    town.type_by_hand("er2\r");
    town.project.until_lines("heard", 1);
    let received = std::fs::read_to_string(town.project.path("heard")).expect("a file");
    assert_eq!(received, "hunter2\n");
}

/// P9, T3: a question without brackets is shown as a question, and not answered by a nudge.
#[test]
fn a_question_without_brackets_waits_for_a_person() {
    for (asked, part) in [
        ("Really drop it? > ", "Really drop it?"),
        ("Continue connecting? Type yes or no\\\\n> ", "yes or no"),
        ("Delete all branches? Enter y or n\\\\n", "y or n"),
        ("? Drop the database › ", "Drop the database"),
    ] {
        let script =
            format!(r#"["bash", "-c", "printf '{asked}'; read x; echo $x > heard; sleep 1000"]"#);
        let project = shell(Kept::Own, &script);
        let is_so = |view: &serde_json::Value| {
            let question = view["agent"]["question"].as_str().unwrap_or_default();
            view["agent"]["state"] == "waiting" && question.contains(part)
        };
        project.until("agent", asked, is_so);
        let words = ["nudge", "agent", "--mode", "immediate", "--json", "hello"];
        let answer = project.call(&words).json();
        assert_eq!(answer["receipt"], "refused", "{asked}: {answer}");
        assert_eq!(project.lines("heard"), 0, "{asked}");
        project.call(&["answer", "agent", "no"]).ok();
        assert_eq!(project.until_lines("heard", 1), 1, "{asked}");
    }
}

/// P9: a text that is shown as stars is removed, also if Ctrl-U does nothing.
#[test]
fn a_masked_text_is_removed() {
    let town = Town::new(Kept::Own, &["masked"]);
    let answer = town.say("a short text", &["--mode", "immediate", "--raw"]);
    assert_eq!(answer["receipt"], "refused", "{answer}");
    assert!(answer["why"].as_str().expect("a reason").contains("cleared"), "{answer}");
    assert!(town.received().is_empty(), "{:?}", town.received());
}

/// P9: the rest of a suggestion after the cursor is not part of the text.
#[test]
fn a_suggestion_behind_the_cursor_does_not_disturb() {
    let town = Town::new(Kept::Own, &["suggests"]);
    let answer = town.say("look at it", &["--mode", "immediate", "--raw"]);
    assert_eq!(answer["receipt"], "delivered", "{answer}");
    assert_eq!(town.received(), ["look at it"]);
}
