//! The files `supervisor.json` and `crash.log`.

use crate::daemon::setup::{
    Daemon, QUICK, answering, crash_log, quick_home, replace_supervisor, state_file,
};
use ostler_e2e::{Home, Signal, eventually};
use serde_json::Value;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::atomic::{AtomicBool, Ordering};

#[track_caller]
fn assert_private(home: &Home, name: &str) {
    let metadata = std::fs::metadata(home.file(name)).expect(name);
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{name}");
}

/// `2026-02-08T14:30:00Z`
#[track_caller]
fn assert_utc(text: &Value) {
    let text = text.as_str().expect("a time");
    let pattern = text.chars().map(|char| if char.is_ascii_digit() { '0' } else { char });
    assert_eq!(pattern.collect::<String>(), "0000-00-00T00:00:00Z", "{text}");
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> =
        value.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// D5: its fields while the daemon runs, between two supervisors, and after a stop.
#[test]
fn supervisor_json_has_its_fields() {
    let home = Home::new();
    let daemon = Daemon::start(&home);
    let fresh = state_file(&home);
    assert_eq!(keys(&fresh), ["crash_count", "gateway_pid", "pid", "started_at"], "{fresh}");
    assert_eq!(fresh["pid"], daemon.guardian.pid);
    assert_eq!(fresh["gateway_pid"], daemon.supervisor.pid);
    assert_eq!(fresh["crash_count"], 0);
    assert_utc(&fresh["started_at"]);
    assert_private(&home, "supervisor.json");
    home.kill_supervisor();
    let between = eventually("the crash", || {
        let file = state_file(&home);
        (file["crash_count"] == 1).then_some(file)
    });
    assert_eq!(keys(&between), ["crash_count", "last_crash_at", "pid", "started_at"], "{between}");
    assert_utc(&between["last_crash_at"]);
    assert_eq!(between["started_at"], fresh["started_at"]);
    let next = answering(&home, &daemon.supervisor);
    let after = state_file(&home);
    assert_eq!(
        keys(&after),
        ["crash_count", "gateway_pid", "last_crash_at", "pid", "started_at"],
        "{after}"
    );
    assert_eq!(after["gateway_pid"], next.pid);
    assert_eq!(after["last_crash_at"], between["last_crash_at"]);
    assert_private(&home, "supervisor.json");
}

/// D5: a reader at any time gets a whole file; no partial file is left beside it.
#[test]
fn supervisor_json_is_always_read_whole() {
    let home = Home::with(&[("OSTLER_WAIT_MS", "5")]);
    Daemon::start(&home);
    let over = AtomicBool::new(false);
    let (reads, inodes) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut reads, mut inodes) = (0u32, std::collections::HashSet::new());
            let mut last = 0;
            while !over.load(Ordering::Relaxed) {
                let file = state_file(&home);
                assert!(file["pid"].is_i64(), "{file}");
                let crashes = file["crash_count"].as_u64().expect("a number");
                assert!(crashes >= last, "{last}, then {crashes}");
                last = crashes;
                inodes
                    .extend(std::fs::metadata(home.file("supervisor.json")).map(|meta| meta.ino()));
                reads += 1;
            }
            (reads, inodes.len())
        });
        for _ in 0..10 {
            replace_supervisor(&home);
        }
        over.store(true, Ordering::Relaxed);
        reader.join().expect("every read was whole")
    });
    assert!(reads > 100 && inodes > 1, "{reads} reads of {inodes} files");
    assert_eq!(state_file(&home)["crash_count"], 10);
    let left = std::fs::read_dir(home.path()).expect("a folder").flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("new")), "{left:?}");
}

/// D5, D6: stop and start: the counters begin anew, the crash log is kept.
#[test]
fn stop_and_start_reset_the_counters_and_keep_the_crash_log() {
    let home = quick_home();
    Daemon::start(&home);
    replace_supervisor(&home);
    replace_supervisor(&home);
    assert_eq!(state_file(&home)["crash_count"], 2);
    let log = crash_log(&home);
    home.stop();
    assert_eq!(state_file(&home)["crash_count"], 2, "until the next start");
    let daemon = Daemon::start(&home);
    let fresh = state_file(&home);
    assert_eq!(fresh["crash_count"], 0);
    assert_eq!(keys(&fresh), ["crash_count", "gateway_pid", "pid", "started_at"], "{fresh}");
    assert_eq!(fresh["pid"], daemon.guardian.pid);
    assert_eq!(crash_log(&home), log);
    replace_supervisor(&home);
    assert!(crash_log(&home).starts_with(&log), "lines are only appended");
    assert_eq!(state_file(&home)["crash_count"], 1);
}

/// D6: its layout, line by line; private; lines are only appended, also to foreign content.
#[test]
fn crash_log_has_its_layout() {
    let home = quick_home();
    std::fs::create_dir(home.path()).expect("a folder");
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o700)).expect("mode");
    let daemon = Daemon::start(&home);
    let mut supervisor = daemon.supervisor;
    for _ in 0..2 {
        supervisor.signal(Signal::KILL);
        supervisor = answering(&home, &supervisor);
    }
    assert_private(&home, "crash.log");
    let log = String::from_utf8(crash_log(&home)).expect("text");
    let entries: Vec<&str> = log.split("\n\n").collect();
    assert_eq!(entries.len(), 2, "{log}");
    for entry in entries {
        let lines: Vec<&str> = entry.lines().collect();
        let time = lines[0].strip_prefix("=== CRASH ").and_then(|rest| rest.strip_suffix(" ==="));
        let time = time.expect("a head").replace(' ', "T") + "Z";
        assert_utc(&time.into());
        let ran = lines[1].strip_prefix("Ran for: ").expect("how long");
        assert!(ran.ends_with('s'), "{ran}");
        assert_eq!(lines[2], "Exit code: -1");
        assert_eq!(lines[3], "Error: signal: killed");
        assert_eq!(lines[4], "Last 50 lines of output:");
    }
}

/// The crash log's entry of a supervisor whose last output was this.
fn last_words(words: &[u8]) -> Vec<u8> {
    let home = Home::new();
    let file = home.folder().join("words");
    let failpoint = format!("say:{}", file.display());
    let home = with_failpoint(home, &failpoint);
    let daemon = Daemon::start(&home);
    std::fs::write(&file, words).expect("written");
    let _call = home.spawn(&["run", "--", "true"]);
    daemon.supervisor.wait_gone();
    answering(&home, &daemon.supervisor);
    let log = crash_log(&home);
    let head = b"Last 50 lines of output:\n";
    let at = log.windows(head.len()).position(|part| part == head).expect("a head");
    let output = String::from_utf8_lossy(&log[..at]).into_owned();
    assert!(output.contains("Error: signal: aborted"), "{output}");
    log[at + head.len()..].to_vec()
}

fn with_failpoint(mut home: Home, failpoint: &str) -> Home {
    home.set("OSTLER_FAILPOINT", failpoint);
    home.set(QUICK.0, QUICK.1);
    home
}

/// D6: the last line that a dying supervisor wrote is in it, however long it is.
#[test]
fn a_last_line_of_a_mebibyte_is_in_the_crash_log() {
    let mut words = b"the line before\n".to_vec();
    words.extend((0..1 << 20).map(|index| b'a' + (index % 23) as u8));
    words.push(b'\n');
    let log = last_words(&words);
    assert!(log.ends_with(&words), "{} bytes of {}", log.len(), words.len());
}

/// D6: the same if it is not text, or has no newline.
#[test]
fn a_last_line_without_newline_or_not_text_is_in_the_crash_log() {
    let log = last_words(b"caf\xe9 \xff\xfe\x00 end\n");
    assert!(log.ends_with(b"caf\xe9 \xff\xfe\x00 end\n"), "{log:?}");
    let log = last_words(b"first\nand then it just");
    assert!(log.ends_with(b"first\nand then it just\n"), "{log:?}");
    let log = String::from_utf8(last_words(b"")).expect("text");
    assert!(log.lines().all(|line| line.contains("supervisor-started")), "nothing more: {log}");
}

/// D6: fifty lines, the last ones, oldest first.
#[test]
fn the_crash_log_has_the_last_fifty_lines() {
    let words: String = (1..=200).map(|line| format!("said {line}\n")).collect();
    let log = String::from_utf8(last_words(words.as_bytes())).expect("text");
    let expected: Vec<String> = (151..=200).map(|line| format!("said {line}")).collect();
    assert_eq!(log.lines().collect::<Vec<_>>(), expected);
}

/// D6, D2: a panic: its message is the last that is in the crash log, and the supervisor comes back.
#[test]
fn the_message_of_a_panic_is_in_the_crash_log() {
    let home = Home::new();
    let file = home.folder().join("words");
    let failpoint = format!("panic:{}", file.display());
    let home = with_failpoint(home, &failpoint);
    let daemon = Daemon::start(&home);
    std::fs::write(&file, "the horse is out of the stable").expect("written");
    let _call = home.spawn(&["run", "--", "true"]);
    daemon.supervisor.wait_gone();
    answering(&home, &daemon.supervisor);
    let log = String::from_utf8(crash_log(&home)).expect("text");
    assert!(log.contains("panicked at"), "{log}");
    assert!(log.contains("the horse is out of the stable"), "{log}");
    assert_eq!(home.run(&[], &["true"])["exitCode"], 0);
}
