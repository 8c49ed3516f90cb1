//! X2: shell completions with live names, and manual pages.

use crate::units::inspect::Seen;
use ostler_e2e::Home;
use std::path::PathBuf;

const SLEEP: &str = "exec sleep 1000";

/// The path of a shell; a test of a missing shell is skipped.
fn shell(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|p| p.exists());
    if found.is_none() {
        eprintln!("{name} is not installed");
    }
    found
}

/// The output of a shell for this script, with the executable in its PATH.
fn ask(seen: &Seen, shell: &std::path::Path, script: &str) -> String {
    let mut command = seen.home.program(shell);
    let binary = Home::binary();
    let folder = binary.parent().expect("a folder").display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    command.args(["-c", script]).env("PATH", path).env("HOME", seen.home.folder());
    let answer = seen.home.spawn_program(command).finish();
    assert_eq!(answer.code, 0, "{answer:?}");
    answer.text()
}

fn bash_completes(seen: &Seen, words: &[&str]) -> Vec<String> {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
    let script = format!(
        "source <(ostler completions bash); COMP_WORDS=({}); COMP_CWORD={}; \
         _ostler_live ostler '{last}' '{before}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" "),
        words.len() - 1
    );
    let bash = shell("bash").expect("bash");
    let text = ask(seen, &bash, &script);
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// X2: bash completes the names of units, the ids of runs, and verbs.
#[test]
fn bash_completes_live_names() {
    let seen = Seen::of(&[("bot", SLEEP, ""), ("boat", SLEEP, ""), ("web", SLEEP, "")]).up();
    let run = seen.home.start(&[], &["sleep", "1000"]);
    assert_eq!(bash_completes(&seen, &["ostler", "stop", ""]), ["boat", "bot", "web"]);
    assert_eq!(bash_completes(&seen, &["ostler", "stop", "--no-wait", "bo"]), ["boat", "bot"]);
    assert_eq!(bash_completes(&seen, &["ostler", "logs", "-f", "w"]), ["web"]);
    assert!(bash_completes(&seen, &["ostler", "logs", "-n", ""]).iter().all(|word| word != "web"));
    assert!(bash_completes(&seen, &["ostler", "cancel", ""]).contains(&run));
    assert!(bash_completes(&seen, &["ostler", "why", ""]).contains(&run));
    assert_eq!(bash_completes(&seen, &["ostler", "cra"]), ["crashes"]);
    assert!(bash_completes(&seen, &["ostler", "stop", "--no"]).contains(&"--no-wait".to_owned()));
}

/// X2: fish and zsh, if installed.
#[test]
fn fish_and_zsh_complete_live_names() {
    let seen = Seen::of(&[("bot", SLEEP, ""), ("web", SLEEP, "")]).up();
    if let Some(fish) = shell("fish") {
        let script = "ostler completions fish | source; complete -C 'ostler stop '";
        let words = ask(&seen, &fish, script);
        assert!(words.contains("bot\n") && words.contains("web\n"), "{words}");
        let words = ask(&seen, &fish, "ostler completions fish | source; complete -C 'ostler cra'");
        assert!(words.starts_with("crashes"), "{words}");
    }
    if let Some(zsh) = shell("zsh") {
        let script = "autoload -U compinit; compinit -u -D; source <(ostler completions zsh); \
             compadd() { shift; print -l ${(P)1} }; _ostler_live_units";
        let words = ask(&seen, &zsh, script);
        assert_eq!(words, "bot\nweb\n");
        let generated = seen.call(&["completions", "zsh"]).ok().text();
        assert!(generated.contains(":_ostler_live_both'"), "logs, why and attach complete both");
    }
}

/// X2: a completion starts no daemon, and is empty without one.
#[test]
fn a_completion_starts_no_daemon() {
    let home = Home::new();
    for kind in ["units", "runs", "live-runs"] {
        let answer = home.ostler(&["complete", kind]).ok();
        assert_eq!((answer.text().as_str(), answer.stderr.as_str()), ("", ""));
    }
    assert!(home.supervisor().is_none() && !home.path().exists());
}

/// X2: every command has a manual page.
#[test]
fn manual_pages_are_written() {
    let home = Home::new();
    let folder = home.folder().join("man");
    let path = folder.to_str().expect("text");
    home.ostler(&["man", path]).ok();
    let pages: Vec<String> = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("a file").file_name().into_string().expect("text"))
        .collect();
    for page in ["ostler.1", "ostler-ls.1", "ostler-logs.1", "ostler-top.1"] {
        assert!(pages.iter().any(|known| known == page), "{page} is missing among {pages:?}");
    }
    assert!(!pages.iter().any(|page| page.contains("supervisor") || page.contains("complete.")));
    for page in &pages {
        let text = std::fs::read_to_string(folder.join(page)).expect("a page");
        assert!(text.lines().any(|line| line.starts_with(".TH ostler")), "{page}: {text:.200}");
    }
    if let Some(man) = shell("man") {
        let mut command = home.program(man);
        command.args(["-P", "cat", "-l"]).arg(folder.join("ostler-logs.1"));
        let shown = home.spawn_program(command).finish();
        assert!(shown.code == 0 && shown.text().contains("--previous"), "{shown:?}");
    }
}
