//! X2: the live view of units, on a real terminal.

use crate::units::inspect::Seen;
use ostler_e2e::{Signal, Terminal, eventually};

const SLEEP: &str = "echo up; exec sleep 1000";
const BORROWED: &str = "\x1b[?1049h";
const GIVEN_BACK: &str = "\x1b[?1049l";

fn top(seen: &Seen, columns: u16, rows: u16) -> Terminal {
    let mut command = seen.home.command(&["top"]);
    command.current_dir(seen.home.folder()).env("NO_COLOR", "1");
    Terminal::start(command, columns, rows)
}

fn ends_well(terminal: Terminal) -> String {
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(0), "{shown:?}");
    let (back, borrowed) = (shown.rfind(GIVEN_BACK), shown.rfind(BORROWED));
    assert!(back > borrowed && borrowed.is_some(), "the terminal is not put back: {shown:?}");
    shown
}

/// X2: it draws, reacts to keys, reports the results, and restores the terminal.
#[test]
fn top_draws_acts_and_restores_the_terminal() {
    let seen = Seen::of(&[("bot", SLEEP, ""), ("web", SLEEP, "")]).up();
    let mut terminal = top(&seen, 80, 24);
    terminal.until_on_screen("2 units: 2 ready");
    terminal.until_on_screen("q quit");
    terminal.keys(b"x");
    terminal.until_on_screen("bot: stopped");
    terminal.keys(b"s");
    terminal.until_on_screen("bot: ready, pid ");
    terminal.keys(b"jr");
    terminal.until_on_screen("web: ready, pid ");
    eventually("the unit was restarted", || (seen.view("web")["restarts"] == 1).then_some(()));
    terminal.keys(b"/zzz");
    terminal.until_on_screen("no unit matches the filter");
    terminal.keys(b"\x1b");
    terminal.until_on_screen("enter status");
    terminal.keys(b"a");
    terminal.until_on_screen("has no terminal (backend");
    terminal.keys(b"q");
    ends_well(terminal);
}

/// X2: opens a log and a status from the table, and returns.
#[test]
fn top_opens_logs_and_status() {
    let tick = "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.1; done";
    let seen = Seen::of(&[("bot", tick, "")]).up();
    let mut terminal = top(&seen, 60, 12);
    terminal.until_on_screen("bot ");
    terminal.keys(b"l");
    terminal.until_on_screen("log of bot");
    terminal.until_on_screen("line 9");
    terminal.keys(b"q\r");
    terminal.until_on_screen("status of bot");
    terminal.until_on_screen("Wanted: running");
    terminal.keys(b"qq");
    ends_well(terminal);
}

/// X2: attaches to a unit on a terminal, and returns to the view.
#[test]
fn top_attaches_and_returns() {
    let script = "echo hello from inside; while read line; do echo you said $line; done";
    let seen = Seen::of(&[("agent", script, "backend = \"pty\"")]).up();
    let mut terminal = top(&seen, 80, 24);
    terminal.until_on_screen("agent ");
    terminal.keys(b"a");
    terminal.until_on_screen("hello from inside");
    terminal.keys(b"hi\r");
    terminal.until_on_screen("you said hi");
    terminal.keys(b"\x1d");
    terminal.until_on_screen(": detached");
    terminal.keys(b"q");
    ends_well(terminal);
}

/// X2: it works on any screen size, and when the size changes.
#[test]
fn top_works_on_a_small_screen() {
    let seen = Seen::of(&[("bot", SLEEP, ""), ("web", SLEEP, "")]).up();
    for (columns, rows) in [(20, 5), (10, 2), (3, 1)] {
        let mut terminal = top(&seen, columns, rows);
        terminal.until_on_screen("bo");
        terminal.resize(80, 24);
        terminal.until_on_screen("2 units: 2 ready");
        terminal.keys(b"q");
        ends_well(terminal);
    }
}

/// X2: TERM restores the terminal too; without a terminal the error has the remedy.
#[test]
fn top_ends_on_term_and_needs_a_terminal() {
    let seen = Seen::of(&[("bot", SLEEP, "")]).up();
    let terminal = top(&seen, 80, 24);
    terminal.until_on_screen("1 unit: 1 ready");
    terminal.process().expect("top is running").signal(Signal::TERM);
    ends_well(terminal);
    let without = seen.call(&["top"]);
    assert_eq!(without.code, 2, "{without:?}");
    assert!(without.stderr.contains("`ostler ls`"), "{without:?}");
}

/// X2: a panic restores the terminal before its message; a daemon that ends is reported, and top goes on.
#[test]
fn top_survives_the_daemon_and_restores_the_terminal_after_a_panic() {
    let seen = Seen::of(&[("bot", SLEEP, "")]).up();
    let mut command = seen.home.command(&["top"]);
    command.env("OSTLER_FAILPOINT", "top");
    let mut terminal = Terminal::start(command, 80, 24);
    terminal.until_on_screen("1 unit: 1 ready");
    terminal.keys(b"!");
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(101), "{shown:?}");
    let (back, description) = (shown.rfind(GIVEN_BACK), shown.find("as a test has asked"));
    assert!(back.is_some() && back < description, "{shown:?}");

    let mut terminal = top(&seen, 80, 24);
    terminal.until_on_screen("1 unit: 1 ready");
    seen.home.kill_supervisor();
    eventually("the next supervisor answers", || seen.home.supervisor());
    terminal.keys(b"r");
    terminal.until_on_screen("bot: ready, pid ");
    seen.call(&["stop"]).ok();
    terminal.until_on_screen("no supervisor is running");
    terminal.keys(b"q");
    ends_well(terminal);
}
