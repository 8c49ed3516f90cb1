//! The patrol recovers dead and hanging agents, and leaves working ones alone.

use crate::patrol::setup::{AgentBackend, CLIMB, HANGS, LONG, Town, WAITS, WORKS, decision};
use ostler_e2e::{Signal, eventually, eventually_within};
use std::time::Duration;

/// P1, P3: a dead session is started on the next tick, and journaled.
fn a_dead_agent_is_started(backend: AgentBackend) {
    let town = Town::new(backend, "", &[("deacon", WAITS)]);
    town.up();
    let old = town.project.crash("deacon");
    town.project.until("deacon", "over", |view| view["pid"].is_null());
    let decided = town.until_step("deacon", "start");
    assert_eq!(decided["health"], "session-dead", "{decided:#}");
    assert_ne!(town.process("deacon").pid, old.pid);
    assert_eq!(town.count("deacon", "patrol-acted"), 1);
}

/// P1, P3
#[test]
fn a_dead_session_is_started_on_the_next_tick_in_tmux() {
    ostler_e2e::needs!("tmux");
    a_dead_agent_is_started(AgentBackend::Tmux);
}

/// P5: without tmux the same matrix, on Ostler's terminal.
#[test]
fn a_dead_session_is_started_on_the_next_tick_on_a_pty() {
    a_dead_agent_is_started(AgentBackend::Pty);
}

/// P3: a silent agent without work is idle, and never ended.
#[test]
fn idle_without_work_is_never_ended() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS)]);
    town.heartbeat("deacon", LONG, 1);
    town.up();
    let before = town.process("deacon");
    for _ in 0..6 {
        let decided = town.decided("deacon");
        let step = decided["step"].as_str().expect("a word");
        assert!(["nothing", "nudge", "wake"].contains(&step), "{decided:#}");
    }
    assert_eq!(town.process("deacon"), before);
}

/// P3: a silent agent with work whose processes use the processor is left alone.
#[test]
fn silent_but_working_is_left_alone() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WORKS)]);
    town.heartbeat("deacon", LONG, 1);
    town.up();
    town.mail("deacon");
    let before = town.process("deacon");
    for _ in 0..5 {
        let decided = town.decided("deacon");
        assert_eq!(decided["step"], "nothing", "{decided:#}");
        assert_eq!(decided["health"], "healthy", "{decided:#}");
    }
    assert_eq!(town.process("deacon"), before);
}

/// P3: with work pending and no progress, one rung after the other; at the end it is restarted.
fn a_hanging_agent_climbs_the_ladder(backend: AgentBackend) {
    let town = Town::new(backend, "", &[("deacon", HANGS)]);
    town.heartbeat("deacon", LONG, 1);
    town.up();
    let before = town.process("deacon");
    town.mail("deacon");
    let mut steps = Vec::new();
    eventually_within(CLIMB, "a restart", || {
        let step = town.decided("deacon")["step"].as_str().expect("a word").to_owned();
        if step != "nothing" && steps.last() != Some(&step) {
            steps.push(step.clone());
        }
        (step == "restart").then_some(())
    });
    // Ctrl-C is not pressed if its effect is unknown.
    let rungs = ["nudge", "wake", "restart"];
    let climbed: Vec<&str> = steps.iter().map(String::as_str).collect();
    assert_eq!(climbed, rungs);
    assert!(!before.is_alive());
    assert_ne!(town.process("deacon").pid, before.pid);
}

/// P3
#[test]
fn a_hanging_agent_climbs_the_ladder_in_tmux() {
    ostler_e2e::needs!("tmux");
    a_hanging_agent_climbs_the_ladder(AgentBackend::Tmux);
}

/// P3, P5
#[test]
fn a_hanging_agent_climbs_the_ladder_on_a_pty() {
    a_hanging_agent_climbs_the_ladder(AgentBackend::Pty);
}

/// P3: an agent that nothing recovered is reported as hung, and after a restart no longer.
#[test]
fn an_agent_that_nothing_recovered_is_reported_as_hung() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", HANGS)]);
    town.heartbeat("deacon", LONG, 1);
    town.up();
    town.mail("deacon");
    let hung = || town.project.view("deacon")["agent"]["hungSinceAtMs"].clone();
    town.until_step("deacon", "restart");
    assert!(hung().is_null(), "a new process: {}", hung());
    town.until_step("deacon", "escalate");
    assert!(hung().is_u64(), "{}", hung());
    let table = String::from_utf8(town.call(&["ls"]).ok().stdout).expect("text");
    assert!(table.lines().any(|line| line.contains("deacon") && line.contains("hung")), "{table}");
    town.call(&["restart", "deacon"]).ok();
    town.project.until_state("deacon", "ready");
    assert!(hung().is_null(), "restarted by a person: {}", hung());
}

/// P3: stopped just while the nudge and the wake were typed, and well again when it would be restarted.
#[test]
fn one_that_reads_again_is_not_restarted() {
    let command = [ostler_e2e::helper!("prompt"), "record"];
    let agent = format!("command = {command:?}\nstale = \"100ms\"\nvery_stale = \"1s\"");
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", &agent)]);
    town.heartbeat("deacon", LONG, 1);
    town.up();
    let before = town.process("deacon");
    before.signal(Signal::STOP);
    town.mail("deacon");
    town.until_step("deacon", "wake");
    before.signal(Signal::CONT);
    let outcome = eventually_within(CLIMB, "the decision to restart it", || {
        let tick = town.tick();
        let agent = tick["agents"].as_array()?.iter().find(|one| one["agent"] == "deacon")?;
        (agent["decision"]["step"] == "restart").then(|| agent["outcome"].to_string())
    });
    assert!(outcome.contains("it reads again"), "{outcome}");
    assert_eq!(town.process("deacon"), before);
}

/// P3: a healthy program that shows a text and does not take Enter is brought to a person, and never restarted.
#[test]
fn an_agent_that_takes_no_text_is_escalated_to_a_person() {
    let command = [ostler_e2e::helper!("prompt"), "record", "deaf"];
    let agent = format!("command = {command:?}\nstale = \"100ms\"\nvery_stale = \"1s\"");
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", &agent)]);
    town.heartbeat("deacon", LONG, 1);
    town.up();
    let before = town.process("deacon");
    town.mail("deacon");
    let mut steps = Vec::new();
    eventually_within(CLIMB, "a person", || {
        let step = town.decided("deacon")["step"].as_str().expect("a word").to_owned();
        assert_ne!(step, "restart", "{steps:?}");
        steps.push(step.clone());
        (step == "escalate").then_some(())
    });
    assert_eq!(town.process("deacon"), before);
}

/// P3: a new cycle after a nudge is progress, and ends the ladder.
#[test]
fn progress_after_a_nudge_ends_the_ladder() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS)]);
    town.heartbeat("deacon", LONG, 1);
    town.up();
    town.mail("deacon");
    let before = town.process("deacon");
    eventually("an action was taken", || {
        (town.decided("deacon")["step"] != "nothing").then_some(())
    });
    town.heartbeat("deacon", Duration::ZERO, 2);
    for _ in 0..4 {
        assert_eq!(town.decided("deacon")["step"], "nothing");
    }
    assert_eq!(town.process("deacon"), before);
}

/// P2: fresh, stale, very stale, missing, and garbage.
#[test]
fn heartbeats_are_as_fresh_as_their_file_says() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS)]);
    town.up();
    assert_eq!(town.decided("deacon")["freshness"], "unknown");
    // Far enough from the limits (300 s, 900 s) for a slow machine.
    for (age, word) in [(0, "fresh"), (240, "fresh"), (400, "stale"), (1_000, "very-stale")] {
        town.heartbeat("deacon", Duration::from_secs(age), 1);
        assert_eq!(town.decided("deacon")["freshness"], word, "{age} s");
    }
    std::fs::write(town.file("deacon/heartbeat.json"), "{\"timestamp\":").expect("written");
    assert_eq!(town.decided("deacon")["freshness"], "unknown");
}

/// P3: an agent that reports that it is busy, or waits at a gate, is not disturbed.
#[test]
fn a_busy_agent_is_not_disturbed() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS)]);
    town.heartbeat("deacon", LONG, 1);
    town.up();
    town.mail("deacon");
    town.call(&["patrol", "busy", "--as", "deacon", "1h"]).ok();
    for _ in 0..3 {
        assert_eq!(town.decided("deacon")["step"], "nothing");
    }
    town.call(&["patrol", "busy", "--as", "deacon", "0"]).ok();
    town.call(&["patrol", "say", "--as", "deacon", "awaiting-gate", "-m", "review"]).ok();
    assert_eq!(town.decided("deacon")["step"], "nothing");
    town.call(&["patrol", "say", "--as", "deacon", "clear"]).ok();
    eventually("an action was taken", || {
        (town.decided("deacon")["step"] != "nothing").then_some(())
    });
}

/// P7: a live session with a dead agent is created again.
#[test]
fn a_dead_agent_in_a_live_session_is_restarted() {
    ostler_e2e::needs!("tmux");
    let body = format!("{WAITS}\nprocess = [\"claude\"]");
    let town = Town::new(AgentBackend::Tmux, "", &[("deacon", &body)]);
    town.heartbeat("deacon", Duration::ZERO, 1);
    town.up();
    let before = town.process("deacon");
    let decided = town.until_step("deacon", "restart");
    assert_eq!(decided["health"], "agent-dead", "{decided:#}");
    eventually("its end", || (!before.is_alive()).then_some(()));
    // Not again at once: there is a delay.
    let now = town.process("deacon");
    assert_eq!(town.decided("deacon")["step"], "nothing");
    assert_eq!(town.process("deacon"), now);
}

/// P3: many deaths at once are one event, and no blind restart of all.
#[test]
fn many_deaths_at_once_are_one_event() {
    let agents = [("deacon", WAITS), ("one", WAITS), ("two", WAITS), ("three", WAITS)];
    let town = Town::new(AgentBackend::Pty, "", &agents);
    town.up();
    for (agent, _) in agents {
        town.process(agent).signal(Signal::KILL);
    }
    for (agent, _) in agents {
        town.project.until(agent, "over", |view| view["pid"].is_null());
    }
    let first = town.tick();
    for (agent, _) in agents {
        assert_ne!(decision(&first, agent)["step"], "start", "{first:#}");
    }
    let inbox = town.call(&["mail", "inbox", "overseer", "--json"]).ok().text();
    assert_eq!(inbox.matches("ESCALATION").count(), 1, "{inbox}");
    // Afterwards they are started, in waves.
    eventually("all run again", || {
        town.tick();
        let back = |(agent, _): &(&str, &str)| !town.project.view(agent)["pid"].is_null();
        agents.iter().all(back).then_some(())
    });
}

/// P1: a person's pause and stop take precedence over every rule.
#[test]
fn a_paused_patrol_does_nothing_and_a_stopped_one_runs_no_agent() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS)]);
    town.up();
    town.call(&["patrol", "pause", "-m", "lunch"]).ok();
    assert_eq!(town.json(".runtime/deacon/paused.json")["reason"], "lunch");
    town.project.crash("deacon");
    town.project.until("deacon", "over", |view| view["pid"].is_null());
    for _ in 0..3 {
        assert_eq!(town.decided("deacon")["step"], "nothing");
    }
    town.call(&["patrol", "resume"]).ok();
    assert!(!town.file(".runtime/deacon/paused.json").exists());
    town.until_step("deacon", "start");
    let before = town.process("deacon");
    town.call(&["patrol", "estop", "-m", "wrong branch"]).ok();
    assert!(!before.is_alive(), "it returns when they are gone");
    let output = std::fs::read_to_string(town.file("ESTOP")).expect("a file");
    assert!(output.starts_with("manual\t") && output.ends_with("\twrong branch\n"), "{output:?}");
    for _ in 0..3 {
        assert_eq!(town.decided("deacon")["step"], "nothing");
    }
    assert!(town.project.view("deacon")["pid"].is_null());
    town.call(&["patrol", "estop", "--clear"]).ok();
    town.project.until_state("deacon", "ready");
    assert!(!town.file("ESTOP").exists());
}

/// P13: other tools stop all agents by Gas Town's file.
#[test]
fn a_stop_that_another_tool_wrote_counts() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS)]);
    town.up();
    std::fs::write(town.file("ESTOP"), "manual\t2026-01-02T18:30:00Z\tfire\n").expect("written");
    town.project.crash("deacon");
    town.project.until("deacon", "over", |view| view["pid"].is_null());
    let decided = town.decided("deacon");
    assert_eq!(decided["step"], "nothing", "{decided:#}");
    assert!(decided["reason"].as_str().expect("text").contains("fire"), "{decided:#}");
    std::fs::remove_file(town.file("ESTOP")).expect("removed");
    town.until_step("deacon", "start");
}

/// P3: an agent that a person stopped by name stays stopped.
#[test]
fn an_agent_that_was_stopped_by_name_is_not_started() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS)]);
    town.up();
    town.call(&["stop", "deacon"]).ok();
    for _ in 0..3 {
        assert_eq!(town.decided("deacon")["step"], "nothing");
    }
    assert!(town.project.view("deacon")["pid"].is_null());
}

/// P8, P13: the files for Gas Town exist, and are complete and true.
#[test]
fn the_files_for_gas_town_are_written() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS)]);
    town.up();
    town.tick();
    let state = town.json("daemon/state.json");
    assert_eq!(state["running"], true);
    assert!(state["heartbeat_count"].as_u64().is_some_and(|count| count >= 2), "{state}");
    let pid = std::fs::read_to_string(town.file("daemon/daemon.pid")).expect("a file");
    let patrol = town.project.process("patrol");
    assert_eq!(pid.trim(), patrol.pid.to_string());
    let log = std::fs::read_to_string(town.file("daemon/daemon.log")).expect("a file");
    assert!(log.lines().all(|line| line.contains("Z deacon: no action (")), "{log}");
    assert!(town.json("daemon/restart_state.json")["agents"].is_object());
}

/// P1: lifecycle requests are carried out once, and never again.
#[test]
fn a_lifecycle_request_is_carried_out_once() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS), ("one", WAITS)]);
    town.up();
    let before = town.process("one");
    let send = ["mail", "send", "deacon", "-s", "LIFECYCLE: one requesting restart"];
    let body = ["-m", "{\"action\":\"restart\"}", "--as", "one"];
    town.call(&[&send[..], &body[..]].concat()).ok();
    town.tick();
    let after = town.project.next_process("one", &before);
    town.tick();
    assert_eq!(town.process("one"), after);
    assert_eq!(town.count("one", "lifecycle-asked"), 1);
    let stop = ["-m", "{\"action\":\"shutdown\"}", "--as", "one"];
    town.call(&[&["mail", "send", "deacon", "-s", "LIFECYCLE: bye"], &stop[..]].concat()).ok();
    town.tick();
    town.project.until("one", "stopped", |view| view["pid"].is_null());
    assert_eq!(decision(&town.tick(), "one")["step"], "nothing");
}

/// P1: a pending spawn is started at the next tick, once, with its first message.
#[test]
fn a_pending_spawn_is_started_with_its_first_message() {
    let body = "command = [\"sh\", \"-c\", \"while read line; do echo got $line; done\"]";
    let town = Town::new(AgentBackend::Pty, "", &[("one", body)]);
    town.up();
    town.call(&["stop", "one"]).ok();
    town.call(&["patrol", "spawn", "one", "-m", "begin with the tests"]).ok();
    town.tick();
    town.project.until_state("one", "ready");
    town.project
        .spawn(&["logs", "-f", "one"])
        .until_written("got [from patrol] begin with the tests");
    let before = town.process("one");
    town.tick();
    assert_eq!(town.process("one"), before);
}

/// P1: two ticks never overlap: the second waits, or reports that one is running.
#[test]
fn ticks_do_not_overlap() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS)]);
    town.up();
    let before = town.json("daemon/state.json")["heartbeat_count"].as_u64().expect("a number");
    let ticks: Vec<_> = (0..4).map(|_| town.project.spawn(&["patrol", "tick", "--json"])).collect();
    let done = ticks.into_iter().map(|tick| tick.finish()).filter(|tick| tick.code == 0).count();
    let after = town.json("daemon/state.json")["heartbeat_count"].as_u64().expect("a number");
    assert_eq!(after - before, done as u64);
}

/// P1: the patrol is restarted like any unit, and ticks again.
#[test]
fn a_killed_patrol_is_restarted_and_restarts_no_agent() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS)]);
    town.up();
    let agent = town.process("deacon");
    let before = town.json("daemon/state.json")["heartbeat_count"].as_u64().expect("a number");
    let old = town.project.crash("patrol");
    town.project.next_process("patrol", &old);
    eventually("another tick", || {
        let now = town.json("daemon/state.json")["heartbeat_count"].as_u64()?;
        (now > before).then_some(())
    });
    assert_eq!(town.process("deacon"), agent);
}

/// P11: an agent that answers is responsive; one that does not, three times, should be killed.
#[test]
fn a_health_check_counts_to_three() {
    let answers = "command = [\"sh\", \"-c\", \"while read line; do echo heard $line; done\"]";
    let town = Town::new(AgentBackend::Pty, "", &[("one", answers), ("two", WAITS)]);
    town.up();
    let check =
        |agent: &str| town.call(&["patrol", "health-check", agent, "--timeout", "2s", "--json"]);
    // An agent that was just started and has drawn nothing gets time.
    eventually("the agent answers", || {
        let well = check("one");
        assert_eq!(well.code, 0, "{well:?}");
        (well.json()["result"] == "responsive").then_some(())
    });
    eventually("the check has begun", || (check("two").json()["result"] == "silent").then_some(()));
    let silent = check("two");
    assert_eq!((silent.code, &silent.json()["failures"]), (0, &2.into()), "{silent:?}");
    let third = check("two");
    assert_eq!((third.code, &third.json()["result"]), (2, &"should-be-killed".into()), "{third:?}");
    let state = town.json("deacon/health-check-state.json");
    assert_eq!(state["agents"]["two"]["consecutive_failures"], 3, "{state}");
    assert_eq!(check("nobody").code, 4);
}

/// P11: a full-screen program that hangs, with text before its cursor, does not wait for a person.
#[test]
fn a_full_screen_program_that_hangs_is_silent() {
    let draws = r#"command = ["sh", "-c", "stty raw -echo; printf '\\033[?1049h\\033[2Jfull screen'; exec sleep 1000"]"#;
    for backend in [AgentBackend::Pty, AgentBackend::Tmux] {
        let town = Town::new(backend, "", &[("one", draws)]);
        town.up();
        let check = || town.call(&["patrol", "health-check", "one", "--timeout", "1s", "--json"]);
        // An agent that was just started gets time.
        eventually("the check has begun", || (check().json()["result"] == "silent").then_some(()));
        assert_eq!(check().code, 0);
        assert_eq!(check().code, 2);
    }
}

/// X1: an agent that is not watched, and a daemon without a patrol, are errors.
#[test]
fn an_agent_that_is_not_watched_is_an_error() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS)]);
    town.up();
    let output = town.call(&["patrol", "triage", "deacom", "--dry-run"]);
    assert_eq!(output.code, 4);
    assert!(output.stderr.contains("watched agents: deacon"), "{output:?}");
    let plain = crate::units::setup::Project::of(&[("a", "command = [\"sleep\", \"1000\"]")]);
    plain.up();
    let output = plain.call(&["patrol", "tick"]);
    assert_eq!(output.code, 4);
    assert!(output.stderr.contains("[patrol.watch.NAME]"), "{output:?}");
}

/// P13: a tick by hand is not the patrol: the state file names only the patrol's own process.
#[test]
fn the_state_file_never_names_a_tick_by_hand() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS)]);
    town.up();
    town.tick();
    let patrol = town.project.process("patrol");
    assert_eq!(town.json("daemon/state.json")["pid"], patrol.pid);
    town.call(&["stop", "patrol"]).ok();
    town.tick();
    let state = town.json("daemon/state.json");
    assert_eq!((&state["running"], &state["pid"]), (&false.into(), &serde_json::Value::Null));
}

/// P2: a heartbeat with a future time is unknown, with its reason, and causes no action.
#[test]
fn a_heartbeat_of_next_year_is_not_fresh() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS)]);
    town.up();
    let file = town.file("deacon/heartbeat.json");
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
    let beat = r#"{"timestamp":"2099-01-02T18:30:00Z","cycle":42,"last_action":"x"}"#;
    std::fs::write(file, beat).expect("written");
    let decided = town.decided("deacon");
    assert_eq!(decided["step"], "nothing", "{decided}");
    let output = town.call(&["patrol", "status", "--json"]).ok().text();
    assert!(output.contains("is in the future"), "{output}");
}
