//! Callers that request too much, or never read: others are answered, and memory stays small.

use crate::both;
use ostler_e2e::{Home, Process, Registry, Signal, eventually, is_root};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The supervisor's peak memory, in MiB.
pub fn peak(process: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.pid)).expect("read");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib >> 10
}

/// A debug build with its symbols in memory; without bounds each of these attacks took hundreds.
pub const MEMORY_MOST: u64 = 96;

#[track_caller]
fn supervisor(home: &Home) -> Process {
    home.ostler(&["start"]).ok();
    home.supervisor().expect("a supervisor")
}

/// Records whose list is large: some 1.5 MB.
fn long_history(home: &Home) {
    let long = "x".repeat(30_000);
    for _ in 0..50 {
        home.ostler(&["run", "-d", "--", "true", &long]).ok();
    }
}

fn connect(home: &Home, socket: &str) -> UnixStream {
    let path = home.file(socket);
    let stream = eventually("the control socket accepts", || UnixStream::connect(&path).ok());
    stream.set_write_timeout(Some(Duration::from_secs(2))).expect("a timeout");
    stream
}

/// Sends the request so often, or until the socket accepts no more. Never reads.
fn flood(mut stream: &UnixStream, request: &Value, times: usize) -> usize {
    let line = format!("{request}\n");
    (0..times).take_while(|_| stream.write_all(line.as_bytes()).is_ok()).count()
}

/// X6: answers that one connection requests and never reads stay small, and delay no other caller.
#[test]
fn large_answers_that_are_never_read_stay_small() {
    for home in both() {
        let supervisor = supervisor(&home);
        long_history(&home);
        let filter = json!({ "liveOnly": false, "newestEnded": null, "unit": null });
        let request = json!({ "id": 1, "method": "runs.list", "params": filter });
        let hostile: Vec<UnixStream> = (0..4).map(|_| connect(&home, "ostler.sock")).collect();
        for stream in &hostile {
            flood(stream, &request, 1_500);
        }
        assert_eq!(home.records().len(), 50, "another caller is answered");
        assert!(peak(&supervisor) < MEMORY_MOST, "{} MiB", peak(&supervisor));
        assert_eq!(home.supervisor(), Some(supervisor));
        drop(hostile);
        home.stop();
    }
}

/// X6: the same for small answers. Nothing is dropped: the connection is not read until there is space.
#[test]
fn small_answers_that_are_never_read_stay_small() {
    let home = Home::new();
    let supervisor = supervisor(&home);
    let hostile = connect(&home, "ostler.sock");
    let sent = flood(&hostile, &json!({ "id": 1, "method": "daemon.ping" }), 300_000);
    assert!(sent < 300_000, "all requests were read");
    assert!(peak(&supervisor) < MEMORY_MOST, "{} MiB", peak(&supervisor));
    // Every accepted request is answered, once the caller reads.
    let mut answers = std::io::BufReader::new(&hostile);
    let mut line = String::new();
    for _ in 0..sent {
        line.clear();
        std::io::BufRead::read_line(&mut answers, &mut line).expect("an answer");
        assert!(line.contains("\"ok\":{\"version\""), "{line}");
    }
    home.ostler(&["runs"]).ok();
}

/// X6: a request without an end, on many connections.
#[test]
fn requests_without_an_end_stay_small() {
    let home = Home::new();
    let supervisor = supervisor(&home);
    let part = vec![b'x'; 1 << 20];
    let hostile: Vec<UnixStream> = (0..24).map(|_| connect(&home, "ostler.sock")).collect();
    for mut stream in &hostile {
        stream.set_write_timeout(Some(Duration::from_millis(100))).expect("a timeout");
        let _ = (0..15).try_for_each(|_| stream.write_all(&part));
    }
    home.ostler(&["runs"]).ok();
    assert!(peak(&supervisor) < MEMORY_MOST, "{} MiB", peak(&supervisor));
}

fn declare(home: &Home, units: &str) {
    let file = home.folder().join("ostler.toml");
    std::fs::write(&file, units).expect("written");
    home.ostler(&["up", "-f", file.to_str().expect("text")]).ok();
}

fn unit(home: &Home) -> Value {
    let units = home.ostler(&["ls", "--json"]).ok().json();
    units.as_array().and_then(|units| units.first()).cloned().unwrap_or_default()
}

const WEB: &str = "[units.web]\ncommand = ['sleep', '611']\n\
    restart = { initial = \"10ms\", max = \"10ms\", limit = { count = 3, window = \"1h\" } }\n";

/// X6: callers cannot take the descriptors that supervision needs.
#[test]
fn a_unit_comes_back_while_callers_hold_all_they_can_get() {
    for home in both() {
        // Each process has its own number of connections.
        let mut first = home.program("sh");
        let binary = home.command(&[]).get_program().to_owned();
        first.args(["-c", "ulimit -n 128; exec \"$0\" start"]).arg(binary);
        home.spawn_program(first).finish().ok();
        declare(&home, WEB);
        let supervisor = home.supervisor().expect("a supervisor");
        let held: Vec<UnixStream> =
            (0..400).filter_map(|_| UnixStream::connect(home.file("ostler.sock")).ok()).collect();
        for _ in 0..2 {
            let pid = unit(&home)["pid"].as_i64().expect("a pid") as i32;
            Process::find(pid).expect("the unit runs").signal(Signal::KILL);
            let back = |unit: &Value| unit["state"] == "ready" && unit["pid"] != pid;
            eventually("the unit runs again", || back(&unit(&home)).then_some(()));
        }
        assert_eq!(home.supervisor(), Some(supervisor));
        drop(held);
        home.stop();
    }
}

/// Sets the soft limit of the home's supervisor, as its own user: root may not be allowed to do that to another's.
#[track_caller]
fn limit(home: &Home, resource: &str, most: &str) {
    let supervisor = home.supervisor().expect("a supervisor");
    let mut command = home.program("prlimit");
    command.args(["--pid", &supervisor.pid.to_string(), &format!("--{resource}={most}:")]);
    home.spawn_program(command).finish().ok();
}

/// The lowest number that none of its descriptors has.
fn first_free(process: &Process) -> u64 {
    let folder = std::fs::read_dir(format!("/proc/{}/fd", process.pid)).expect("a folder");
    let taken: HashSet<u64> =
        folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    (0..).find(|number| !taken.contains(number)).expect("a number")
}

/// D21: a start that fails for lack of the daemon's own resources is retried. It does not count for the unit: the limit is 3, and more starts fail.
#[test]
fn a_shortage_of_the_daemons_resources_does_not_count_for_the_unit() {
    for (number, home) in both().into_iter().enumerate() {
        declare(&home, WEB);
        let supervisor = home.supervisor().expect("a supervisor");
        let root = unit(&home)["pid"].as_i64().expect("a pid") as i32;
        // The kernel gives root processes beyond any limit.
        let is_of_processes = number == 1 && is_root();
        let (resource, most) = match is_of_processes {
            true => ("nproc", 1),
            false => ("nofile", first_free(&supervisor)),
        };
        limit(&home, resource, &most.to_string());
        Process::find(root).expect("the unit runs").signal(Signal::KILL);
        if is_of_processes {
            let shown = eventually("the unit says what it waits for", || {
                let unit = unit(&home);
                unit["why"].as_str()?.contains("retrying in").then_some(unit)
            });
            let why = shown["why"].as_str().expect("a text");
            assert!(why.contains("the process limit is reached"), "{shown}");
        }
        // Four tries: 1, 2 and 4 s apart. The registry is read directly: no caller can connect.
        let registry = Registry::open(&home);
        let tries = "SELECT count(*) FROM entries WHERE what = 'unit-again' AND evidence LIKE '%\"counted\":false%'";
        eventually("the start was retried", || (registry.number(tries) >= 4).then_some(()));
        limit(&home, resource, if is_of_processes { "4096" } else { "512" });
        let unit = eventually("the unit runs again", || {
            let unit = unit(&home);
            (unit["state"] == "ready").then_some(unit)
        });
        assert_eq!(unit["restarts"], 1, "{unit}");
        assert_eq!(home.supervisor(), Some(supervisor));
        home.stop();
    }
}

/// X6: many callers of the app socket that request logs and never read them.
#[test]
fn the_app_socket_keeps_little_for_a_caller_that_does_not_read() {
    let home = Home::new();
    let folder = home.folder().join("app");
    std::fs::create_dir(&folder).expect("a folder");
    let manifest = json!({
        "id": "talker", "type": "app", "main": "main", "protocol": { "version": "1.0" },
    });
    let manifest = manifest.to_string();
    std::fs::write(folder.join("openclawos.manifest.json"), manifest).expect("written");
    let script = "#!/bin/sh\nseq -f '%0500.0f' 1 9000\necho written\nexec sleep 612\n";
    std::fs::write(folder.join("main"), script).expect("written");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.join("main"), mode).expect("a mode");
    let file = home.folder().join("ostler.toml");
    std::fs::write(&file, "[units.talker]\nmanifest = \"app\"\n").expect("written");
    home.ostler(&["up", "--no-wait", "-f", file.to_str().expect("text")]).ok();
    home.until_logged("talker", "written");
    let supervisor = home.supervisor().expect("a supervisor");
    let params = json!({ "packageId": "talker", "lines": 10_000 });
    let request = json!({ "id": "1", "type": "request", "method": "apps.logs", "params": params });
    let hostile: Vec<UnixStream> = (0..60).map(|_| connect(&home, "kernel.sock")).collect();
    for stream in &hostile {
        flood(stream, &request, 20);
    }
    home.ostler(&["ls"]).ok();
    assert!(peak(&supervisor) < MEMORY_MOST, "{} MiB", peak(&supervisor));
    assert_eq!(home.supervisor(), Some(supervisor));
}

/// X7: output without a newline while a line is waited for.
#[test]
fn waiting_for_a_line_needs_little_memory_for_any_output() {
    let home = Home::new();
    let script =
        "head -c 60000000 /dev/zero | tr '\\\\0' x; echo; echo now it listens; exec sleep 613";
    let units = format!(
        "[units.web]\ncommand = [\"sh\", \"-c\", \"{script}\"]\nready = {{ line = \"listens$\", timeout = \"60s\" }}\n"
    );
    declare(&home, &units);
    let supervisor = home.supervisor().expect("a supervisor");
    assert_eq!(unit(&home)["state"], "ready");
    assert!(peak(&supervisor) < MEMORY_MOST, "{} MiB", peak(&supervisor));
}

/// X6: all of it at once, on the connections of eight processes: other callers are answered.
#[test]
fn other_callers_are_answered_during_all_attacks_at_once() {
    let home = Home::new();
    let supervisor = supervisor(&home);
    long_history(&home);
    declare(&home, WEB);
    let filter = json!({ "liveOnly": false, "newestEnded": null, "unit": null });
    let runs = json!({ "id": 1, "method": "runs.list", "params": filter });
    let ping = json!({ "id": 1, "method": "daemon.ping" });
    let list = json!({ "id": "1", "type": "request", "method": "apps.list", "params": {} });
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for (socket, request) in
            [("ostler.sock", &runs), ("ostler.sock", &ping), ("kernel.sock", &list)]
        {
            let (home, done) = (&home, &done);
            scope.spawn(move || {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let stream = connect(home, socket);
                    stream.set_write_timeout(Some(Duration::from_millis(50))).expect("a timeout");
                    flood(&stream, request, 2_000);
                }
            });
        }
        for _ in 0..20 {
            home.ostler(&["ls"]).ok();
            assert_eq!(home.run(&[], &["true"])["exitCode"], 0);
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(peak(&supervisor) < MEMORY_MOST, "{} MiB", peak(&supervisor));
    assert_eq!(home.supervisor(), Some(supervisor));
}
