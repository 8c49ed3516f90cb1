//! Hostile users, files and programs against the patrol.

use crate::patrol::setup::{AgentBackend, CLIMB, HANGS, LONG, Town, WAITS, decision};
use crate::units::setup::assert_single;
use ostler_e2e::{Process, Signal, eventually, eventually_within};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The time limit of a tick, whatever it finds.
const BOUND: Duration = Duration::from_secs(30);

fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().expect("mkfifo");
    assert!(made.success(), "{}", path.display());
}

/// A folder with a program called `tmux` in it.
fn false_tmux(town: &Town, script: &str) -> String {
    let folder = town.project.folder().join("false");
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = folder.join("tmux");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("written");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("executable");
    format!("{}:{}", folder.display(), std::env::var("PATH").expect("a path"))
}

/// P3, P8: with a tmux that hangs, fails, or prints nonsense, the state is unknown, and no agent is ended or started. A person is notified
/// once, and once when it is over.
#[test]
fn a_tmux_without_an_answer_kills_no_agent_and_is_reported_once() {
    ostler_e2e::needs!("tmux");
    let town = Town::new(AgentBackend::Tmux, "", &[("deacon", WAITS), ("other", WAITS)]);
    town.up();
    let before = [town.process("deacon"), town.process("other")];
    let false_tick = |script: &str| {
        let path = false_tmux(&town, script);
        let mut command = town.project.home.command(&["patrol", "tick", "--json"]);
        command.current_dir(town.project.folder()).env("PATH", path);
        let begun = Instant::now();
        let tick = town.project.home.spawn_program(command).finish().ok().json();
        assert!(begun.elapsed() < BOUND, "{script}: {:?}", begun.elapsed());
        for agent in ["deacon", "other"] {
            let decided = decision(&tick, agent);
            assert_eq!(
                (&decided["step"], &decided["health"]),
                (&"nothing".into(), &"unknown".into())
            );
        }
    };
    for script in ["exec sleep 1000", "echo nonsense; echo more", "exit 1", "exit 0"] {
        false_tick(script);
    }
    for _ in 0..3 {
        false_tick("echo again >&2; exit 1");
    }
    town.tick();
    let inbox = town.call(&["mail", "inbox", "overseer", "--json"]).ok().text();
    // The one with empty output and success ended the first condition.
    assert_eq!(inbox.matches("ESCALATION: all agents: tmux-unreachable").count(), 2, "{inbox}");
    assert_eq!(inbox.matches("RESOLVED: all agents: tmux-unreachable").count(), 2, "{inbox}");
    assert_eq!([town.process("deacon"), town.process("other")], before);
}

/// P1: any file in the place of a heartbeat does not delay a tick, and counts as unknown.
#[test]
fn a_heartbeat_that_is_no_file_does_not_delay_a_tick() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS)]);
    let beat = town.file("deacon/heartbeat.json");
    std::fs::create_dir_all(beat.parent().expect("a folder")).expect("made");
    town.up();
    let before = town.process("deacon");
    let seen = |what: &str| {
        let begun = Instant::now();
        let decided = town.decided("deacon");
        assert!(begun.elapsed() < BOUND, "{what}");
        assert_eq!(decided["freshness"], "unknown", "{what}: {decided:#}");
    };
    fifo(&beat);
    seen("a pipe");
    std::fs::remove_file(&beat).expect("removed");
    std::fs::create_dir(&beat).expect("made");
    seen("a folder");
    std::fs::remove_dir(&beat).expect("removed");
    symlink("heartbeat.json", &beat).expect("linked");
    seen("a link to itself");
    std::fs::remove_file(&beat).expect("removed");
    symlink("/dev/zero", &beat).expect("linked");
    seen("no end");
    std::fs::remove_file(&beat).expect("removed");
    std::fs::File::create(&beat).and_then(|file| file.set_len(1 << 30)).expect("made");
    seen("a gigabyte");
    std::fs::write(&beat, b"\xff\xfe{}").expect("written");
    seen("no text");
    assert_eq!(town.process("deacon"), before);
}

/// P1: order files and the triage marker may be any kind of file.
#[test]
fn orders_and_markers_that_are_no_files_do_not_delay_a_tick() {
    let triage = "[patrol.triage]\ncommand = [\"sh\", \"-c\", \"echo '{\\\"action\\\":\\\"nothing\\\"}'\"]\n\
                  cooldown = \"0\"";
    let town = Town::new(AgentBackend::Pty, triage, &[("deacon", HANGS)]);
    town.heartbeat("deacon", LONG, 1);
    town.up();
    let marker = town.file("deacon/dogs/boot/.boot-running");
    std::fs::create_dir_all(marker.parent().expect("a folder")).expect("made");
    fifo(&marker);
    std::fs::create_dir_all(town.file(".runtime/deacon")).expect("made");
    let _ = std::fs::remove_file(town.file("daemon/daemon.log"));
    fifo(&town.file("daemon/daemon.log"));
    town.mail("deacon");
    eventually("triage is asked nevertheless", || {
        town.tick();
        (town.count("deacon", "triage-asked") > 0).then_some(())
    });
    for order in ["ESTOP", ".runtime/deacon/paused.json"] {
        fifo(&town.file(order));
        let reason = town.decided("deacon")["reason"].as_str().expect("text").to_owned();
        assert!(reason.contains("is stopped by") || reason.contains("is paused by"), "{reason}");
        std::fs::remove_file(town.file(order)).expect("removed");
        std::fs::create_dir(town.file(order)).expect("made");
        assert_eq!(town.decided("deacon")["step"], "nothing");
        // It cannot be lifted while the file is there, and the error says so.
        let lift: &[&str] = match order {
            "ESTOP" => &["patrol", "estop", "--clear"],
            _ => &["patrol", "resume"],
        };
        let output = town.call(lift);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stderr.contains("until you remove the file"), "{output:?}");
        std::fs::remove_dir(town.file(order)).expect("removed");
        town.call(lift).ok();
    }
}

/// P1: a stop by its file is lifted only by a person: not by a tick that began before, not by
/// another order.
#[test]
fn an_estop_by_hand_is_not_lifted_by_ticks_or_other_orders() {
    let work = "work = [\"sh\", \"-c\", \"echo >> asked; while [ ! -e go ]; do sleep 0.02; done\"]";
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", &format!("{WAITS}\n{work}"))]);
    std::fs::write(town.file("go"), "").expect("written");
    town.up();
    std::fs::remove_file(town.file("go")).expect("removed");
    std::fs::remove_file(town.file("asked")).expect("removed");
    let tick = town.project.spawn(&["patrol", "tick", "--json"]);
    eventually("the tick has begun", || town.file("asked").exists().then_some(()));
    std::fs::write(town.file("ESTOP"), "manual\t2026-01-02T18:30:00Z\tfire\n").expect("written");
    std::fs::write(town.file("go"), "").expect("written");
    tick.finish().ok();
    assert!(town.file("ESTOP").exists(), "a tick lifted it");
    town.call(&["patrol", "pause", "-m", "lunch"]).ok();
    town.call(&["patrol", "resume"]).ok();
    town.call(&["patrol", "spawn", "deacon"]).ok();
    assert!(town.file("ESTOP").exists(), "another order lifted it");
    town.call(&["patrol", "estop", "--clear"]).ok();
    assert!(!town.file("ESTOP").exists());
}

/// P1: while all agents are stopped none is started: not by mail, not by a request, not by `up`.
#[test]
fn no_agent_is_started_while_all_are_stopped() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS), ("other", WAITS)]);
    town.up();
    town.call(&["patrol", "estop", "-m", "fire"]).ok();
    let restart = r#"{"action":"restart"}"#;
    town.call(&[
        "mail",
        "send",
        "deacon/",
        "--as",
        "other",
        "-s",
        "LIFECYCLE: restart",
        "-m",
        restart,
    ])
    .ok();
    town.call(&["patrol", "spawn", "other"]).ok();
    for _ in 0..2 {
        town.tick();
    }
    town.declare(AgentBackend::Pty, "", &[("deacon", WAITS), ("other", WAITS), ("third", WAITS)]);
    let output = town.call(&["up"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("estop --clear"), "{output:?}");
    town.project.until("third", "stopped", |view| view["pid"].is_null());
    for agent in ["deacon", "other"] {
        assert!(town.project.view(agent)["pid"].is_null(), "{agent} runs");
    }
    town.call(&["patrol", "estop", "--clear"]).ok();
    town.project.until("deacon", "running", |view| view["state"] == "ready");
}

/// P1: an emergency stop does not depend on a file that cannot be written.
#[test]
fn an_estop_works_though_its_file_cannot_be_written() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS)]);
    town.up();
    let before = town.process("deacon");
    std::fs::create_dir(town.file("ESTOP")).expect("a folder in its place");
    std::fs::write(town.file("ESTOP/x"), "").expect("not empty");
    let output = town.call(&["patrol", "estop", "-m", "fire"]).ok();
    assert!(output.stderr.contains("its file for other tools was not written"), "{output:?}");
    assert!(!before.is_alive());
}

/// P10: Gas Town addresses the deacon as `deacon/`.
#[test]
fn a_mailbox_may_be_written_with_a_slash() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS), ("other", WAITS)]);
    town.up();
    let before = town.process("other");
    let restart = r#"{"action":"restart"}"#;
    town.call(&[
        "mail",
        "send",
        "deacon/",
        "--as",
        "other/",
        "-s",
        "LIFECYCLE: restart",
        "-m",
        restart,
    ])
    .ok();
    assert_eq!(town.call(&["mail", "check", "deacon"]).code, 0);
    assert_eq!(town.call(&["mail", "check", "deacon/"]).code, 0);
    town.tick();
    town.project.next_process("other", &before);
    assert_eq!(town.call(&["mail", "check", "deacon/"]).code, 1);
    assert_eq!(town.call(&["mail", "send", "/", "-s", "s", "-m", "m"]).code, 2);
}

/// P10, P1: a request is carried out at most once, however many ticks there are; an invalid one is dropped and
/// ends no agent.
#[test]
fn requests_are_carried_out_once_and_invalid_ones_dropped() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS), ("other", WAITS)]);
    town.up();
    let deacon = town.process("deacon");
    let other = town.process("other");
    let send = |from: &str, body: &str| {
        town.call(&["mail", "send", "deacon/", "--as", from, "-s", "LIFECYCLE: x", "-m", body])
            .ok();
    };
    for nonsense in ["", "{", "[]", "{\"action\":7}", "{\"action\":\"explode\"}", "null"] {
        send("deacon", nonsense);
    }
    send("stranger", r#"{"action":"restart"}"#);
    send("deacon", r#"{"action":"shutdown","agent":"nobody"}"#);
    send("other", r#"{"action":"cycle"}"#);
    let ticks: Vec<_> = (0..3).map(|_| town.project.spawn(&["patrol", "tick", "--json"])).collect();
    ticks.into_iter().for_each(|tick| drop(tick.finish().ok()));
    town.project.next_process("other", &other);
    assert_eq!(town.process("deacon"), deacon);
    assert_eq!(town.project.view("other")["restarts"], 1);
    assert_single(&town.project.home);
}

/// P12: many agents in trouble at once, with similar names, are each reported; a hook that hangs delays the tick
/// once and not for each agent.
#[test]
fn each_agent_in_trouble_is_reported_though_the_hook_hangs() {
    let long = "an-agent-with-a-name-that-is-as-long-as-a-name-may-be-for-a-unit";
    let names: Vec<String> = (0..4).map(|n| format!("{}{n}", &long[..62])).collect();
    let agents: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), WAITS)).collect();
    let town = Town::new(AgentBackend::Pty, "on_escalation = [\"sleep\", \"1000\"]", &agents);
    town.up();
    // An agent that has just started uses the processor, and is not stuck.
    eventually("they are idle", || {
        let tick = town.tick();
        let percent = |name: &String| decision(&tick, name)["evidence"]["cpuPercent"].as_f64();
        names.iter().all(|name| percent(name).is_some_and(|percent| percent < 0.5)).then_some(())
    });
    for name in &names {
        town.call(&["patrol", "say", "--as", name, "stuck", "-m", "no way on"]).ok();
    }
    let begun = Instant::now();
    town.tick();
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let inbox = town.call(&["mail", "inbox", "overseer", "--json"]).ok().text();
    for name in &names {
        assert_eq!(inbox.matches(&format!("ESCALATION: {name}: stuck")).count(), 1, "{inbox}");
    }
}

/// P3: a busy time is limited.
#[test]
fn a_busy_time_is_limited_to_a_day() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS)]);
    town.up();
    let beat = town.file("deacon/heartbeat.json");
    std::fs::create_dir_all(beat.parent().expect("a folder")).expect("made");
    let write = |hours: u64| {
        let ago = format!("-{hours} hours");
        let date = ["-u", "-d", &ago, "+%Y-%m-%dT%H:%M:%SZ"];
        let at = std::process::Command::new("date").args(date).output().expect("a date").stdout;
        let at = String::from_utf8(at).expect("text");
        let at = at.trim();
        let busy =
            format!(r#"{{"timestamp":"{at}","cycle":1,"busy_until":"9999-12-01T00:00:00Z"}}"#);
        std::fs::write(&beat, busy).expect("written");
        let modified = std::time::SystemTime::now() - Duration::from_secs(hours * 3_600);
        let file = std::fs::File::options().write(true).open(&beat);
        file.and_then(|file| file.set_modified(modified)).expect("set back");
    };
    write(0);
    assert!(town.decided("deacon")["reason"].as_str().expect("text").contains("busy"));
    write(25);
    assert!(!town.decided("deacon")["reason"].as_str().expect("text").contains("busy"));
    let description = town.call(&["patrol", "busy", "--as", "deacon", "25h"]);
    assert_eq!(description.code, 2, "{description:?}");
}

/// P7: after its session, server or shim was killed an agent is started again, and never has a second copy.
#[test]
fn an_agent_has_one_copy_after_its_session_server_or_shim_was_killed() {
    ostler_e2e::needs!("tmux");
    let town = Town::new(AgentBackend::Tmux, "", &[("deacon", WAITS)]);
    town.up();
    let socket = town.project.home.file("tmux.sock");
    let tmux = |words: &[&str]| {
        let mut command = town.project.home.program("tmux");
        command.arg("-S").arg(&socket).args(words);
        town.project.home.spawn_program(command).finish()
    };
    let back = |what: &str, old: &Process| {
        eventually(what, || (!old.is_alive()).then_some(()));
        eventually(what, || {
            town.call(&["patrol", "clear", "deacon"]).ok();
            town.tick();
            assert_single(&town.project.home);
            let view = town.project.view("deacon");
            let is_another = view["pid"].as_i64().is_some_and(|pid| pid != i64::from(old.pid));
            (view["state"] == "ready" && is_another).then_some(())
        });
    };
    let old = town.process("deacon");
    tmux(&["kill-session", "-t", "=hq-deacon"]).ok();
    back("its session was killed", &old);
    let old = town.process("deacon");
    tmux(&["kill-server"]).ok();
    back("the server was killed", &old);
    let old = town.process("deacon");
    let shim = town.project.home.processes().into_iter().find(|process| {
        process.arguments().get(1).map(String::as_str) == Some("shim")
            && process.arguments().get(2).map(String::as_str) == Some("deacon")
    });
    shim.expect("a shim").signal(Signal::KILL);
    back("its shim was killed", &old);
}

/// P1, P7: patrol and supervisor die while a tick starts an agent: there is one copy in the end.
#[test]
fn a_tick_that_is_killed_leaves_one_agent() {
    ostler_e2e::needs!("tmux");
    let town = Town::new(AgentBackend::Tmux, "", &[("deacon", WAITS), ("other", WAITS)]);
    town.up();
    let other = town.process("other");
    for round in 0..3 {
        town.call(&["patrol", "clear", "deacon"]).ok();
        let old = town.project.crash("deacon");
        let tick = town.project.spawn(&["patrol", "tick"]);
        match round {
            0 => {}
            1 => town.project.home.kill_supervisor(),
            _ => {
                town.project.home.kill_supervisor();
                town.project.crash("patrol");
            }
        }
        let _ = tick.finish();
        eventually("the agent runs again", || {
            town.call(&["patrol", "clear", "deacon"]).ok();
            town.call(&["patrol", "tick"]);
            assert_single(&town.project.home);
            let view = town.project.find("deacon")?;
            let is_another = view["pid"].as_i64().is_some_and(|pid| pid != i64::from(old.pid));
            (view["state"] == "ready" && is_another).then_some(())
        });
    }
    assert_eq!(town.process("other"), other);
}

/// P7: the user's sessions, with similar or equal names, survive everything that Ostler does on their
/// server; one with an agent's name is reported to a person.
#[test]
fn the_users_own_sessions_survive_everything() {
    ostler_e2e::needs!("tmux");
    let agents = [("deacon", HANGS), ("other", HANGS)];
    let mut town = Town::new(AgentBackend::Tmux, "tmux = \"default\"", &agents);
    let folder = town.project.home.folder().to_str().expect("text").to_owned();
    town.project.home.set("HOME", &folder);
    town.project.home.set("TMUX_TMPDIR", &folder);
    town.project.home.set("TMUX", "");
    let tmux = |words: &[&str]| {
        let mut command = town.project.home.program("tmux");
        command.args(words);
        town.project.home.spawn_program(command).finish()
    };
    let names = ["hq-deacon", "hq-deacon-2", "hq-deaco", "gt-other-2"];
    let make = |name: &&str| {
        let words =
            ["new-session", "-d", "-P", "-F", "#{pane_pid}", "-s", name, "--", "sleep", "1000"];
        let pid = tmux(&words).ok().text();
        Process::find(pid.trim().parse().expect("a pid")).expect("the session is running")
    };
    let own: Vec<Process> = names.iter().map(make).collect();
    town.heartbeat("deacon", LONG, 1);
    let output = town.call(&["up"]);
    assert_eq!(output.code, 1, "one name is taken: {output:?}");
    let all_live = |when: &str| {
        for (name, process) in names.iter().zip(&own) {
            assert!(process.is_alive(), "{name} is dead after {when}");
        }
    };
    town.mail("deacon");
    let decided = town.until_step("deacon", "escalate");
    assert_eq!(decided["trouble"], "foreign", "{decided:#}");
    all_live("the ladder");
    for words in [
        &["restart", "deacon"][..],
        &["restart", "other"],
        &["patrol", "estop", "-m", "x"],
        &["patrol", "estop", "--clear"],
        &["patrol", "tick"],
        &["stop", "deacon"],
        &["start", "deacon"],
        &["up"],
        &["down"],
        &["up"],
        &["stop"],
    ] {
        town.call(words);
        all_live(&words.join(" "));
    }
    tmux(&["kill-server"]).ok();
}

/// P5: agents are started although the program on disk was replaced while the daemon runs.
#[test]
fn an_agent_is_started_though_the_program_on_disk_was_replaced() {
    ostler_e2e::needs!("tmux");
    let town = Town::new(AgentBackend::Tmux, "", &[("deacon", WAITS)]);
    let program = town.project.folder().join("ostler");
    let place = |from: &Path| {
        let beside = program.with_extension("new");
        std::fs::copy(from, &beside).expect("copied");
        std::fs::rename(beside, &program).expect("moved");
    };
    place(&ostler_e2e::Home::binary());
    let run = |words: &[&str]| {
        let mut command = town.project.home.program(&program);
        command.args(words).current_dir(town.project.folder());
        town.project.home.spawn_program(command).finish()
    };
    run(&["up"]).ok();
    place(&ostler_e2e::Home::binary());
    run(&["restart", "deacon"]).ok();
    assert_eq!(town.project.state("deacon"), "ready");
}

/// X1: without `--json`, `why` prints sentences and not whole observations.
#[test]
fn why_of_an_agent_is_short_and_its_json_complete() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS)]);
    town.up();
    town.tick();
    let output = town.call(&["why", "deacon"]).ok().text();
    assert!(!output.contains("observation="), "{output}");
    let story = town.call(&["why", "deacon", "--json"]).ok().text();
    assert!(story.contains("\"observation\""), "{story}");
}

/// P1: with a broken file, or a missing root, the patrol goes on watching the agents, and can stop
/// them: the last valid configuration is used, and that is reported.
#[test]
fn a_broken_file_or_a_missing_root_does_not_stop_the_patrol() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS)]);
    town.up();
    let before = town.process("deacon");
    std::fs::remove_dir_all(town.root()).expect("removed");
    let ticked = town.call(&["patrol", "tick", "--json"]).ok();
    assert!(ticked.stderr.contains("the last valid version is used"), "{ticked:?}");
    assert_eq!(decision(&ticked.json(), "deacon")["health"], "healthy");
    assert!(before.is_alive());
    let text = std::fs::read_to_string(town.project.file()).expect("a file");
    std::fs::write(town.project.file(), format!("{text}\n[")).expect("written");
    let stopped = town.call(&["patrol", "estop", "-m", "fire"]).ok();
    assert!(stopped.stderr.contains("the last valid version is used"), "{stopped:?}");
    assert!(!before.is_alive());
    // A file that no longer declares a patrol is not broken.
    std::fs::write(town.project.file(), "").expect("written");
    assert_eq!(town.call(&["patrol", "tick"]).code, 1);
}

/// P7: the agent recovers while triage runs: it is not restarted.
#[test]
fn an_agent_that_recovers_during_triage_is_left_alone() {
    ostler_e2e::needs!("tmux");
    let triage = "[patrol.triage]\ncooldown = \"0\"\ncommand = [\"sh\", \"think\"]\ncwd = \".\"";
    let town = Town::new(AgentBackend::Tmux, triage, &[("deacon", HANGS)]);
    let think = r#"case "$(cat)" in
        *'"mechanical":{"step":"restart"'*)
            cp fresh.json deacon/heartbeat.json
            echo '{"action":"restart"}' ;;
        *) echo '{"action":"wake"}' ;;
        esac"#;
    std::fs::write(town.file("think"), think).expect("written");
    town.heartbeat("deacon", Duration::ZERO, 2);
    std::fs::rename(town.file("deacon/heartbeat.json"), town.file("fresh.json")).expect("moved");
    town.heartbeat("deacon", LONG, 1);
    town.up();
    let before = town.process("deacon");
    town.mail("deacon");
    let description = eventually_within(CLIMB, "a restart", || {
        let tick = town.tick();
        let agent = &tick["agents"][0];
        (agent["decision"]["step"] == "restart").then(|| agent["outcome"].to_string())
    });
    assert!(description.contains("it showed activity in the meantime"), "{description}");
    assert_eq!(town.process("deacon"), before);
}

/// P13: files that the patrol writes are no change of an agent: `up` without a change restarts none.
#[test]
fn up_without_a_change_restarts_no_agent() {
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", WAITS), ("other", WAITS)]);
    town.up();
    let before = [town.process("deacon"), town.process("other")];
    town.heartbeat("deacon", LONG, 1);
    town.heartbeat("other", LONG, 1);
    town.tick();
    town.up();
    assert_eq!([town.process("deacon"), town.process("other")], before);
}

/// P1: a stop during a tick counts for that tick too.
#[test]
fn an_estop_in_the_middle_of_a_tick_counts_at_once() {
    let work = "work = [\"sh\", \"-c\", \"echo >> asked; while [ ! -e go ]; do sleep 0.02; done\"]";
    let town = Town::new(AgentBackend::Pty, "", &[("deacon", &format!("{WAITS}\n{work}"))]);
    std::fs::write(town.file("go"), "").expect("written");
    town.up();
    std::fs::remove_file(town.file("go")).expect("removed");
    std::fs::remove_file(town.file("asked")).expect("removed");
    town.project.crash("deacon");
    town.project.until("deacon", "over", |view| view["pid"].is_null());
    let tick = town.project.spawn(&["patrol", "tick", "--json"]);
    eventually("the tick has begun", || town.file("asked").exists().then_some(()));
    town.call(&["patrol", "estop", "-m", "fire"]).ok();
    std::fs::write(town.file("go"), "").expect("written");
    let ticked = tick.finish().ok().json();
    assert!(town.project.view("deacon")["pid"].is_null(), "{ticked:#}");
    assert_eq!(decision(&ticked, "deacon")["step"], "start", "decided before, and not done");
}
