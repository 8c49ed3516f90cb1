//! A prompt that hides what is typed, as for a password.

use crate::terminals::agent_setup::{Agent, On, on_both_terminals};
use ostler_e2e::eventually;
use std::path::{Path, PathBuf};

const SCRIPT: &str = r#"read -s -p 'Password: ' x; echo
while [ "$x" != "$(cat key)" ]; do echo 'Sorry, try again.'; read -s -p 'Password: ' x; echo; done
echo welcome; read -s -p 'PIN of the card > ' y; [ "$y" = 4711-pin ] && touch open; sleep 1000"#;

on_both_terminals! {
    /// T2, T4, P9: a password prompt is a question to a person. `answer` replaces what is half typed there, no file, screen or
    /// journal has the password, a nudge waits, and the question is over also if the program writes nothing afterwards.
    asked: a_hidden_prompt_waits_for_a_person_pty a_hidden_prompt_waits_for_a_person_tmux
}

fn asked(on: On) {
    let agent = Agent::running(on, &["bash", "-c", SCRIPT]);
    std::fs::write(agent.tmux.project.path("key"), "right-3f9\n").expect("a file");
    let view = agent.until_asked("Password:");
    assert_eq!(view["question"], "Password:", "{view}");
    assert!(agent.row().contains("waiting for you"), "{}", agent.row());
    let nudge = agent.call(&["nudge", "a", "--mode", "immediate", "--json", "hello"]).json();
    assert_eq!(nudge["receipt"], "refused", "{nudge}");

    let again = agent.call(&["answer", "a", "wrong-secret-71"]).ok();
    assert!(again.stderr.contains("a asks again"), "{}", again.stderr);
    assert!(!again.text().contains("wrong-secret"), "{}", again.text());
    agent.until_asked("Password:");
    agent.type_in("half-typed");
    let home = &agent.tmux.project.home;
    let next = home.ostler_with_input(&["answer", "a", "--stdin", "--json"], b"right-3f9\n").ok();
    assert_eq!(next.json()["outcome"], "changed", "{next:?}");
    agent.until_shown("welcome");
    agent.until_asked("PIN of the card >");
    let why = agent.call(&["why", "a"]).ok().text();
    assert!(why.contains("answered: with a hidden text"), "{why}");

    agent.type_in("4711-pin\r");
    agent.tmux.project.until("a", "no question", |view| view["agent"].is_null());
    let answered = PathBuf::from(agent.tmux.project.path("open"));
    eventually("the program has the text", || answered.exists().then_some(()));
    for secret in ["wrong-secret-71", "right-3f9"] {
        assert!(!is_below(agent.tmux.project.home.path(), secret), "{secret} was stored");
        for arguments in [&["screen", "a"][..], &["logs", "a"], &["events", "--json"]] {
            let printed = agent.call(arguments).ok().text();
            assert!(!printed.contains(secret), "{arguments:?}: {printed}");
        }
    }
}

/// Whether a file below the folder has the text.
fn is_below(folder: &Path, text: &str) -> bool {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    entries.map(|entry| entry.path()).any(|path| match path.symlink_metadata() {
        Ok(about) if about.is_dir() => is_below(&path, text),
        Ok(about) if about.is_file() => {
            let bytes = std::fs::read(&path).unwrap_or_default();
            bytes.windows(text.len()).any(|part| part == text.as_bytes())
        }
        Ok(_) | Err(_) => false,
    })
}

on_both_terminals! {
    /// T2: a script that hides input to keep its screen clean asks nothing.
    not_asked: a_script_that_hides_input_asks_nothing_pty a_script_that_hides_input_asks_nothing_tmux
}

fn not_asked(on: On) {
    let script = "stty -echo; printf 'copying files '; sleep 2; echo done; printf 'Passphrase: '; read x; sleep 900";
    let agent = Agent::running(on, &["sh", "-c", script]);
    agent.until_asked("Passphrase:");
    assert_eq!(agent.description("agent-waiting"), 1);
}
