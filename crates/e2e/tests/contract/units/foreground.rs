//! X11: `ostler up --follow`: units in the foreground.

use crate::units::inspect::Seen;
use ostler_e2e::{Background, Home, Output, Signal, eventually};

/// Says when it ends.
const POLITE: &str =
    "trap 'echo bye; exit 0' TERM; echo hello; while :; do sleep 1000 & wait $!; done";
const STUBBORN: &str = "trap '' TERM; echo hello; while :; do sleep 1000; done";

fn follow(seen: &Seen, more: &[&str]) -> Background {
    seen.spawn(&[&["up", "--follow"], more].concat())
}

fn state(seen: &Seen, unit: &str) -> String {
    seen.view(unit)["state"].as_str().expect("a state").to_owned()
}

#[track_caller]
fn ended_with(code: i32, output: &Output) {
    assert_eq!(output.code, code, "{}\n{}", output.text(), output.stderr);
}

/// X11: the plan, the output of all units, and after Ctrl-C their last words, in the order of the dependencies.
#[test]
fn ctrl_c_stops_what_was_started_in_order_and_shows_the_last_words() {
    let seen = Seen::of(&[("db", POLITE, ""), ("web", POLITE, "depends_on = [\"db\"]")]);
    let shown = follow(&seen, &[]);
    shown.until_written("db  | hello");
    shown.until_written("web | hello");
    shown.signal(Signal::INT);
    let output = shown.finish();
    ended_with(0, &output);
    let text = output.text();
    assert!(text.contains("+ add      db"), "{text}");
    let (web, db) = (text.find("web | bye"), text.find("db  | bye"));
    assert!(web.is_some() && web < db, "web depends on db, so it ends first: {text}");
    assert_eq!([state(&seen, "db"), state(&seen, "web")], ["stopped", "stopped"]);
}

/// X11: what ran before continues.
#[test]
fn units_that_ran_before_continue_after_ctrl_c() {
    let seen = Seen::of(&[("db", POLITE, ""), ("web", POLITE, "")]);
    seen.call(&["up", "db"]).ok();
    let before = seen.view("db")["pid"].clone();
    let shown = follow(&seen, &[]);
    shown.until_written("web | hello");
    shown.signal(Signal::INT);
    let output = shown.finish();
    ended_with(0, &output);
    assert!(output.stderr.contains("db ran before this command"), "{}", output.stderr);
    assert_eq!(seen.view("db")["pid"], before);
    assert_eq!(state(&seen, "web"), "stopped");
}

/// X11, R32: a second Ctrl-C kills a unit that ignores TERM, whatever its grace.
#[test]
fn a_second_ctrl_c_kills() {
    let seen = Seen::of(&[("web", STUBBORN, "stop = { grace = \"60s\" }")]);
    let shown = follow(&seen, &[]);
    shown.until_written("hello");
    shown.signal(Signal::INT);
    shown.until_stderr_has("stopping web");
    // Signals within 0.3 s are one press of Ctrl-C.
    let mut shown = shown;
    eventually("a second Ctrl-C is taken as one", || {
        if !shown.is_over() {
            shown.signal(Signal::INT);
        }
        shown.is_over().then_some(())
    });
    let output = shown.finish();
    assert!(output.stderr.contains("killing web"), "{}", output.stderr);
    ended_with(130, &output);
    assert_eq!(state(&seen, "web"), "stopped");
}

/// X11: with `--exit-on failure` the failed unit's code is the result, and the others are stopped.
#[test]
fn the_first_failure_ends_everything_with_its_exit_code() {
    let fails = "restart = { when = \"never\" }";
    let seen = Seen::of(&[("job", "echo working; exit 7", fails), ("web", POLITE, "")]);
    let output = follow(&seen, &["--exit-on", "failure"]).finish();
    ended_with(7, &output);
    assert!(output.text().contains("job | working"), "{}", output.text());
    assert!(output.stderr.contains("job failed"), "{}", output.stderr);
    assert_eq!(state(&seen, "web"), "stopped");
}

/// X11: with `--exit-on any` an end without a failure counts too.
#[test]
fn the_first_end_ends_everything() {
    let once = "restart = { when = \"on-failure\" }";
    let seen = Seen::of(&[("job", "echo done", once), ("web", POLITE, "")]);
    let output = follow(&seen, &["--exit-on", "any"]).finish();
    ended_with(0, &output);
    assert_eq!(state(&seen, "web"), "stopped");
}

/// X11: without `--exit-on` it is over when all units have ended, with the code of the one that failed.
#[test]
fn it_is_over_when_all_units_have_ended() {
    let never = "restart = { when = \"never\" }";
    let seen = Seen::of(&[("good", "echo fine", never), ("bad", "echo oops; exit 3", never)]);
    let output = follow(&seen, &[]).finish();
    ended_with(3, &output);
    let text = output.text();
    assert!(text.contains("good | fine") && text.contains("bad  | oops"), "{text}");
}

/// X11: the death of the supervisor interrupts neither the units nor what is shown.
#[test]
fn the_foreground_survives_the_supervisor() {
    let seen =
        Seen::of(&[("web", "echo first; read line; echo $line; sleep 1000", "backend = \"pty\"")]);
    let shown = follow(&seen, &[]);
    shown.until_written("first");
    seen.home.kill_supervisor();
    seen.call(&["write", "web", "--text", "second\n"]).ok();
    shown.until_written("second");
    shown.signal(Signal::INT);
    ended_with(0, &shown.finish());
    assert_eq!(state(&seen, "web"), "stopped");
}

/// X11: when the reader of the output goes away, what was started is stopped.
#[test]
fn a_closed_pipe_stops_what_was_started() {
    let chatty = "while :; do echo line; sleep 0.05; done";
    let seen = Seen::of(&[("web", chatty, "")]);
    let script = format!("{} up --follow | head -n 3", Home::binary().display());
    let mut command = seen.home.program("sh");
    command.args(["-c", &script]).current_dir(seen.home.folder());
    seen.home.spawn_program(command).finish();
    eventually("the unit is stopped", || (state(&seen, "web") == "stopped").then_some(()));
}
