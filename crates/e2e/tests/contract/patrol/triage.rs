//! Triage: runs only when a signal tripped; there is a decision whatever it does.

use crate::patrol::setup::{AgentBackend, CLIMB, HANGS, LONG, Town, WAITS};
use ostler_e2e::{eventually, eventually_within};
use serde_json::Value;
use std::time::{Duration, Instant};

/// An agent that hangs with work, and this triage.
fn hung(triage: &str) -> Town {
    let table = format!("[patrol.triage]\n{triage}\ncooldown = \"0\"\n");
    let town = Town::new(AgentBackend::Pty, &table, &[("deacon", HANGS)]);
    town.heartbeat("deacon", LONG, 1);
    town.up();
    town.mail("deacon");
    town
}

/// Ticks until triage ran; returns the decision.
#[track_caller]
fn until_asked(town: &Town) -> Value {
    let mut seen = Vec::new();
    let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        eventually_within(CLIMB, "triage is asked", || {
            let decided = town.decided("deacon");
            seen.push(format!("{}: {}", decided["step"], decided["reason"]));
            (decided["by"]["kind"] != "mechanical").then_some(decided)
        })
    }));
    found.unwrap_or_else(|_| panic!("triage was never asked: {seen:#?}"))
}

/// P4: triage gets the observation and its answer counts; the files record it.
#[test]
fn the_answer_of_triage_counts() {
    let town = hung(
        "command = [\"sh\", \"-c\", \"cat >asked.json; echo it thinks; \
         echo '{\\\"action\\\":\\\"nothing\\\",\\\"reason\\\":\\\"it composes a long answer\\\"}'\"]",
    );
    let before = town.process("deacon");
    let decided = until_asked(&town);
    assert_eq!(decided["by"]["kind"], "triage", "{decided:#}");
    assert_eq!(decided["step"], "nothing");
    assert_eq!(decided["reason"], "it composes a long answer");
    assert_eq!(town.process("deacon"), before);
    let asked = town.json("asked.json");
    assert_eq!(asked["observation"]["agent"], "deacon");
    assert_eq!(asked["observation"]["pending"]["mail"], 1);
    let status = town.json("deacon/dogs/boot/.boot-status.json");
    assert_eq!((&status["last_action"], &status["target"]), (&"nothing".into(), &"deacon".into()));
    assert!(!town.file("deacon/dogs/boot/.boot-running").exists());
    assert_eq!(town.count("deacon", "triage-asked"), 1);
}

/// P5: if triage is missing, fails, is slow, silent or prints nonsense, the decision by rules applies within the time limit.
#[test]
fn there_is_a_decision_whatever_triage_does() {
    for (triage, why) in [
        ("command = [\"/no/such/program\"]", "could not be started"),
        ("command = [\"sh\", \"-c\", \"exit 9\"]", "exited with code 9"),
        ("command = [\"sh\", \"-c\", \"kill -9 $$\"]", "signal"),
        (
            "command = [\"sh\", \"-c\", \"sleep 1000 & sleep 1000\"]\ntimeout = \"1s\"",
            "did not answer within 1 s",
        ),
        ("command = [\"true\"]", "wrote no output"),
        ("command = [\"sh\", \"-c\", \"head -c 3000 /dev/urandom\"]", "not a decision"),
        ("command = [\"sh\", \"-c\", \"echo kill it\"]", "not a decision"),
        ("command = [\"sh\", \"-c\", \"yes | head -c 10000000\"]", "more than 1 MiB"),
    ] {
        let town = hung(triage);
        let decided = until_asked(&town);
        assert_eq!(decided["by"]["kind"], "degraded", "{triage}: {decided:#}");
        let description = decided["by"]["why"].as_str().expect("a reason");
        assert!(description.contains(why), "{triage}: {description}");
        assert_ne!(decided["step"], "nothing", "{triage}: decision by rules");
        let status = town.json("deacon/dogs/boot/.boot-status.json");
        assert_eq!(status["degraded"], true, "{triage}");
    }
}

/// P4: triage does not run while no signal tripped.
#[test]
fn triage_does_not_run_for_a_healthy_agent() {
    let table = "[patrol.triage]\ncommand = [\"sh\", \"-c\", \"echo asked >>asked; echo {}\"]\n";
    let town = Town::new(AgentBackend::Pty, table, &[("deacon", HANGS), ("one", WAITS)]);
    town.heartbeat("deacon", Duration::ZERO, 1);
    town.up();
    for _ in 0..5 {
        town.tick();
    }
    assert!(!town.file("asked").exists());
}

/// P4: triage has a cooldown and a daily budget.
#[test]
fn triage_runs_within_its_budget() {
    let table = "[patrol.triage]\ncommand = [\"sh\", \"-c\", \"echo asked >>asked; echo {}\"]\n\
        cooldown = \"0\"\ndaily_budget = 2\n";
    let town = Town::new(AgentBackend::Pty, table, &[("deacon", HANGS)]);
    town.heartbeat("deacon", LONG, 1);
    town.up();
    town.mail("deacon");
    town.until_step("deacon", "restart");
    let asked = std::fs::read_to_string(town.file("asked")).unwrap_or_default();
    assert_eq!(asked.lines().count(), 2);
}

/// P4: an action that the evidence does not allow is not taken, whatever triage answers.
#[test]
fn triage_cannot_end_an_idle_agent() {
    let table = "[patrol.triage]\ncommand = [\"sh\", \"-c\", \
        \"echo '{\\\"action\\\":\\\"restart\\\",\\\"reason\\\":\\\"I do not like it\\\"}'\"]\ncooldown = \"0\"\n";
    let town = Town::new(AgentBackend::Pty, table, &[("deacon", HANGS)]);
    town.heartbeat("deacon", LONG, 1);
    town.up();
    let before = town.process("deacon");
    for _ in 0..6 {
        town.call(&["patrol", "triage"]).ok();
        town.tick();
    }
    assert_eq!(town.process("deacon"), before);
}

/// P6: a second triage does not begin during one; a marker that another tool left counts for a while.
#[test]
fn a_second_triage_does_not_begin() {
    let town = hung("command = [\"sh\", \"-c\", \"echo '{\\\"action\\\":\\\"nothing\\\"}'\"]");
    let marker = town.file("deacon/dogs/boot/.boot-running");
    std::fs::create_dir_all(marker.parent().expect("a folder")).expect("made");
    std::fs::write(&marker, "4711\n").expect("written");
    let decided = until_asked(&town);
    assert_eq!(decided["by"]["kind"], "degraded", "{decided:#}");
    assert!(
        decided["by"]["why"].as_str().expect("text").contains("another triage is running"),
        "{decided:#}"
    );
    assert_eq!(std::fs::read_to_string(&marker).expect("still there"), "4711\n");
}

/// P1: a slow triage of one agent delays no other: the other is started meanwhile.
#[test]
fn a_slow_triage_delays_no_other_agent() {
    let table = "[patrol.triage]\ncommand = [\"sh\", \"-c\", \"echo asked >asked; sleep 1000\"]\n\
        timeout = \"20s\"\ncooldown = \"0\"\n";
    let town = Town::new(AgentBackend::Pty, table, &[("deacon", HANGS), ("one", WAITS)]);
    town.heartbeat("deacon", LONG, 1);
    town.heartbeat("one", Duration::ZERO, 1);
    town.up();
    town.mail("deacon");
    // Up to the point where triage runs next.
    town.until_step("deacon", "wake");
    let old = town.project.crash("one");
    town.project.until("one", "over", |view| view["pid"].is_null());
    let begun = Instant::now();
    let tick = town.project.spawn(&["patrol", "tick"]);
    town.project.next_process("one", &old);
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(15), "{took:?}");
    drop(tick);
}

/// P4: a dry run prints triage's input, and does nothing.
#[test]
fn a_dry_run_does_nothing() {
    let town = hung("command = [\"sh\", \"-c\", \"echo asked >>asked; echo {}\"]");
    let before = town.process("deacon");
    let shown = town.call(&["patrol", "triage", "--dry-run", "--json"]).ok().json();
    assert_eq!(shown["agent"], "deacon");
    assert_eq!(shown["document"]["observation"]["pending"]["mail"], 1);
    assert!(shown["mechanical"]["reason"].is_string());
    assert!(!town.file("asked").exists());
    assert_eq!(town.process("deacon"), before);
}

/// P12: a person is notified once when a condition begins, by mail and by the hook, and once when it ends.
#[test]
fn a_person_is_notified_once() {
    let hook = "on_escalation = [\"sh\", \"-c\", \"cat >>told.jsonl; echo >>told.jsonl\"]\n";
    let town = Town::new(AgentBackend::Pty, hook, &[("deacon", WAITS)]);
    town.heartbeat("deacon", Duration::ZERO, 1);
    town.up();
    town.call(&["patrol", "say", "--as", "deacon", "stuck", "-m", "no key for the vault"]).ok();
    town.until_step("deacon", "escalate");
    for _ in 0..4 {
        town.tick();
    }
    let inbox = || town.call(&["mail", "inbox", "overseer", "--json"]).ok().text();
    assert_eq!(inbox().matches("ESCALATION").count(), 1, "{}", inbox());
    let output = std::fs::read_to_string(town.file("told.jsonl")).expect("the hook ran");
    assert_eq!(output.matches("\"edge\":\"begins\"").count(), 1, "{output}");
    town.call(&["patrol", "say", "--as", "deacon", "clear"]).ok();
    town.heartbeat("deacon", Duration::ZERO, 7);
    eventually("the end is reported", || {
        town.tick();
        inbox().contains("RESOLVED").then_some(())
    });
}
