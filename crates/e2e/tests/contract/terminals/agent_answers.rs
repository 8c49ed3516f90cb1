//! Questions on terminals are answered, and only questions.

use crate::terminals::agent_setup::{Agent, On, on_both_terminals};
use ostler_e2e::eventually;

on_both_terminals! {
    /// T4: a key or a text answers a question; `answer` prints the new screen, and that the question is gone.
    answered: a_question_is_answered_pty a_question_is_answered_tmux
}

fn answered(on: On) {
    let agent = Agent::of(on, "ask remove build");
    agent.until_asked("remove build?");
    let moved = agent.call(&["answer", "a", "down"]).ok();
    assert!(moved.stderr.contains("the question is still there"), "{}", moved.stderr);
    assert!(moved.text().contains("❯ 2. No"), "{}", moved.text());
    let gone = agent.call(&["answer", "a", "enter"]).ok();
    assert!(gone.stderr.contains("the question is gone; a is idle"), "{}", gone.stderr);
    assert!(gone.text().starts_with("● you chose 2\n"), "{}", gone.text());
    assert_eq!(agent.answers(), ["chose 2"]);

    agent.type_in("ask go on\r");
    agent.until_asked("go on?");
    let gone = agent.call(&["answer", "a", "1", "--json"]).ok().json();
    assert_eq!((&gone["outcome"], &gone["unit"]), (&"gone".into(), &"a".into()), "{gone}");
    assert_eq!(gone["agent"]["state"], "idle", "{gone}");
    let question = gone["question"].as_str().expect("a text");
    assert!(question.contains("go on?"), "{gone}");
    assert_eq!(gone["screen"][0], "● you chose 1", "{gone}");

    agent.type_in("ask stop\r");
    agent.until_asked("stop?");
    agent.call(&["answer", "a", "escape"]).ok();
    assert_eq!(agent.answers(), ["chose 2", "chose 1", "chose 0"]);

    agent.type_in("name\r");
    agent.until_asked("name it?");
    let words = "it's; \"$HOME\" -größe\\";
    let gone = agent.call(&["answer", "a", words]).ok();
    assert!(gone.text().starts_with(&format!("● {words}\n")), "{}", gone.text());
    agent.type_in("name\r");
    agent.until_asked("name it?");
    agent.call(&["answer", "a", "--text", "up"]).ok();
    let why = agent.call(&["why", "a"]).ok().text();
    assert!(why.contains("answered: with key Enter (question="), "{why}");
    assert!(why.contains("answered: with text of 2 characters"), "{why}");
    assert_eq!(agent.answers()[3..], [format!("named {words}"), "named up".to_owned()]);
}

on_both_terminals! {
    /// T4: Enter after a text would take the marked choice: a text for choices must be one of them, or nothing is typed.
    not_approved: a_text_does_not_take_the_marked_choice_pty a_text_does_not_take_the_marked_choice_tmux
}

fn not_approved(on: On) {
    let agent = Agent::of(on, "ask remove build");
    agent.until_asked("remove build?");
    let refused = agent.call(&["answer", "a", "no, do not do that"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("nothing was typed") && refused.stderr.contains("2. No"),
        "{}",
        refused.stderr
    );
    agent.until_asked("remove build?");
    assert!(agent.answers().is_empty(), "{:?}", agent.answers());
    agent.call(&["answer", "a", "no"]).ok();
    assert_eq!(agent.answers(), ["chose 2"]);
}

on_both_terminals! {
    /// T4: a program that does not show the text gets no Enter.
    not_shown: a_text_that_does_not_appear_is_not_sent_pty a_text_that_does_not_appear_is_not_sent_tmux
}

fn not_shown(on: On) {
    let script = "stty raw -echo; printf 'Proceed? [Y/n] '; dd bs=1 count=9 of=got 2>/dev/null; exec sleep 900";
    let agent = Agent::running(on, &["sh", "-c", script]);
    agent.until_asked("Proceed?");
    let refused = agent.call(&["answer", "a", "later on"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("typed, not sent"), "{}", refused.stderr);
    let got = std::fs::read(agent.tmux.project.path("got")).expect("what it got");
    assert_eq!(String::from_utf8_lossy(&got), "later on", "no Enter");
}

on_both_terminals! {
    /// T4: without a question nothing is typed, and the error has the reason.
    refused: an_answer_without_a_question_is_refused_pty an_answer_without_a_question_is_refused_tmux
}

fn refused(on: On) {
    let agent = Agent::of(on, "hello");
    agent.until("idle");
    let refused = agent.call(&["answer", "a", "1"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("a asks no question, its state is idle"), "{}", refused.stderr);
    agent.type_in("work\r");
    agent.until("working");
    let refused = agent.call(&["answer", "a", "enter"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("its state is working"), "{}", refused.stderr);
    agent.until("working");
    // The screen is read again: a question may be gone by now.
    agent.type_in("x\rask go on\r");
    agent.until_asked("go on?");
    agent.type_in("1");
    eventually("the question was answered", || (agent.answers() == ["chose 1"]).then_some(()));
    let refused = agent.call(&["answer", "a", "2"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert_eq!(agent.answers(), ["chose 1"]);
    let typed = agent.call(&["screen", "a"]).ok().text();
    assert!(!typed.contains("❯ 2"), "{typed}");
}

on_both_terminals! {
    /// T4: a recognisable question of a program without a profile reaches a person, and can be answered.
    of_unknown: a_question_of_an_unknown_program_is_answered_pty
        a_question_of_an_unknown_program_is_answered_tmux
}

fn of_unknown(on: On) {
    let script = "echo begun; read go; printf 'Overwrite all? [y/n] '; read x; echo \"got $x\"; read y; \
                  printf 'Which one?\\n> 1. first\\n  2. second\\n'; read z; echo \"took $z\"; exec sleep 900";
    let agent = Agent::running(on, &["sh", "-c", script]);
    agent.until_shown("begun");
    let refused = agent.call(&["answer", "a", "y"]);
    assert_eq!(refused.code, 1, "nothing is asked yet: {}", refused.stderr);
    agent.type_in("go\r");
    agent.until_asked("Overwrite all?");
    let listed = agent.call(&["ls"]).ok().text();
    assert!(listed.contains("waiting for you") && listed.contains("Overwrite all?"), "{listed}");
    let gone = agent.call(&["answer", "a", "y"]).ok();
    assert!(gone.stderr.contains("the question is gone"), "{}", gone.stderr);
    agent.until_shown("got y");
    agent.type_in("\r");
    agent.until_asked("Which one?");
    agent.call(&["answer", "a", "2"]).ok();
    agent.until_shown("took 2");
    let output = agent.call(&["events", "--json"]).ok().text();
    assert_eq!(output.matches("agent-waiting").count(), 2, "each question once: {output}");
}

on_both_terminals! {
    /// T4: a letter at a line prompt is sent with Enter, also if the program reads each key. If the question appears again, `answer` reports it.
    at_a_line: a_letter_at_a_line_prompt_is_sent_pty a_letter_at_a_line_prompt_is_sent_tmux
}

fn at_a_line(on: On) {
    let script = "import sys, tty, os\n\
        tty.setraw(0)\n\
        for i in range(2):\n  \
          line = b''\n  \
          os.write(1, b'Apply the edit? (y/n) ')\n  \
          while True:\n    \
            c = os.read(0, 1)\n    \
            if c == b'\\r': break\n    \
            line += c\n    \
            os.write(1, c)\n  \
          os.write(1, b'\\r\\ngot ' + line + b'\\r\\n')\n\
        os.write(1, b'done\\r\\n')\n\
        os.read(0, 1)\n";
    let agent = Agent::running(on, &["python3", "-c", script]);
    agent.until_asked("Apply the edit?");
    let again = agent.call(&["answer", "a", "n"]).ok();
    assert!(again.stderr.contains("asks again"), "{}", again.stderr);
    agent.until_shown("got n");
    let gone = agent.call(&["answer", "a", "y"]).ok();
    assert!(gone.stderr.contains("the question is gone\n"), "{}", gone.stderr);
    agent.until_shown("got y");
}

on_both_terminals! {
    /// T4: a letter that stays after the question was not accepted.
    not_taken: a_letter_that_is_not_accepted_is_reported_pty a_letter_that_is_not_accepted_is_reported_tmux
}

fn not_taken(on: On) {
    let script = "import sys, tty, os\n\
        tty.setraw(0)\n\
        os.write(1, b'Apply the edit? (y/n) ')\n\
        while True:\n  \
          c = os.read(0, 1)\n  \
          c != b'\\r' and os.write(1, c)\n";
    let agent = Agent::running(on, &["python3", "-c", script]);
    agent.until_asked("Apply the edit?");
    let refused = agent.call(&["answer", "a", "n"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("the question is still there"), "{}", refused.stderr);
}

/// T4, X1: a unit without a terminal, one that does not run, one that is no agent, and one that does not react are errors.
#[test]
fn answers_that_cannot_be_given_are_errors() {
    let agent = Agent::of(On::Pty, "ask go on");
    agent.until_asked("go on?");
    let refused = agent.call(&["answer", "a", "x"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("the question is still there"), "{}", refused.stderr);
    assert!(refused.text().contains("Do you want to go on?"), "{}", refused.text());
    for (arguments, code, description) in [
        (&["answer", "nobody", "1"][..], 4, "there is no unit or run \"nobody\""),
        (&["answer", "a", ""], 2, "the answer is empty"),
        (&["answer", "a", "one\ntwo"], 2, "use one line"),
    ] {
        let refused = agent.call(arguments);
        assert_eq!(refused.code, code, "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(description), "{arguments:?}: {}", refused.stderr);
    }
    agent.call(&["stop", "a"]).ok();
    let refused = agent.call(&["answer", "a", "1"]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);

    let home = &agent.tmux.project.home;
    let run = home.start_ready(&["--pty"], &["sh", "-c", "echo ready; read x"]);
    let refused = home.ostler(&["answer", &run, "1"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("no question is recognised"), "{}", refused.stderr);
    let piped = home.start(&[], &["sleep", "900"]);
    let refused = home.ostler(&["answer", &piped, "1"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("has no terminal"), "{}", refused.stderr);
}
