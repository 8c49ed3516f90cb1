//! All output is stored byte for byte.

use crate::setup::Setup;
use ostler_e2e::{Home, Signal, helper};

fn flooded(number: usize) -> Vec<u8> {
    (0..number).map(|index| (index * 31 % 251) as u8).collect()
}

/// R12: 256 KiB just before the exit are complete, at the client and in the log.
#[test]
fn a_quarter_mebibyte_before_the_exit_arrives_whole() {
    const SIZE: usize = 256 << 10;
    for setup in [Setup::PIPE, Setup::PIPE_WITHOUT_CGROUP] {
        let home = setup.home();
        let output = home.ostler(&["run", "--", helper!("flood"), "262144", "23"]);
        assert_eq!(output.code, 23, "{}", output.stderr);
        assert!(output.stdout == flooded(SIZE), "{} bytes, not the same", output.stdout.len());
        let run = home.records()[0]["runId"].as_str().expect("an id").to_owned();
        let log = home.ostler(&["logs", &run]).ok();
        assert!(log.stdout == flooded(SIZE), "{} bytes in the log", log.stdout.len());
    }
}

/// R12: however short a run is, a viewer from its beginning sees all of it.
#[test]
fn a_short_run_loses_no_byte() {
    for setup in [Setup::PIPE, Setup::PTY] {
        let home = setup.home();
        for round in 0..300 {
            let options = setup.options(&[]);
            let arguments = [&["run"], options.as_slice(), &["--", "echo", "kept"]].concat();
            let output = home.ostler(&arguments);
            assert_eq!(output.text(), setup.line("kept"), "round {round}: {output:?}");
            assert_eq!((output.code, output.stderr.as_str()), (0, ""), "round {round}");
        }
    }
}

/// R12: the same on standard error.
#[test]
fn a_quarter_mebibyte_on_standard_error_arrives_whole() {
    let home = Home::new();
    let run = home.start(&[], &[helper!("flood"), "262144", "23", "stderr"]);
    assert_eq!(home.wait(&run)["exitCode"], 23);
    let log = home.ostler(&["logs", &run]).ok();
    assert!(log.stdout == flooded(256 << 10), "{} bytes in the log", log.stdout.len());
}

/// R12: the same through a raw terminal.
#[test]
fn a_quarter_mebibyte_through_a_terminal_arrives_whole() {
    let home = Home::new();
    let script = format!("stty raw -echo; exec {} 262144 23", helper!("flood"));
    let run = home.start(&["--pty"], &["sh", "-c", &script]);
    assert_eq!(home.wait(&run)["exitCode"], 23);
    let log = home.ostler(&["logs", &run]).ok();
    assert!(log.stdout == flooded(256 << 10), "{} bytes in the log", log.stdout.len());
}

/// R12: a character that was written in parts is printed whole, and the bytes are unchanged.
#[test]
fn a_character_split_over_writes_is_whole() {
    let whole = "grüße, 世界 🐎\n";
    for setup in [Setup::PIPE, Setup::PTY] {
        let home = setup.home();
        let result = home.run(&setup.options(&[]), &[helper!("split_utf8")]);
        assert_eq!(result["stdout"], setup.line(whole.trim_end()), "{result}");
        let run = home.start(&setup.options(&[]), &[helper!("split_utf8")]);
        let followed = home.ostler(&["logs", "-f", "--json", &run]).ok();
        assert_eq!(followed.json()["text"].as_str().map(str::trim_end), Some(whole.trim_end()));
        let lines = home.ostler(&["logs", "--json", &run]).ok().json();
        assert_eq!(lines[0]["text"].as_str().map(str::trim_end), Some(whole.trim_end()));
        let raw = home.ostler(&["logs", &run]).ok();
        assert_eq!(raw.text(), setup.line(whole.trim_end()));
    }
}

/// R12: no reader is needed, and a viewer that does not read does not block the run.
#[test]
fn a_viewer_that_does_not_read_does_not_block_the_run() {
    let home = Home::new();
    let script = format!("echo ready; read go; exec {} 8000000 0", helper!("flood"));
    let run = home.start_ready(&["--stdin"], &["sh", "-c", &script]);
    let viewer = home.spawn(&["logs", "-f", &run]);
    viewer.until_written("ready");
    viewer.signal(Signal::STOP);
    home.ostler(&["write", &run, "--text", "go\n"]).ok();
    assert_eq!(home.wait(&run)["exitCode"], 0);
    viewer.signal(Signal::CONT);
    let seen = viewer.finish().ok();
    assert_eq!(seen.stdout.len(), "ready\n".len() + 8_000_000, "the viewer gets all output later");
}

/// R11, R12: a program that closes every descriptor goes on, and its code is known.
#[test]
fn a_program_that_closes_its_descriptors_goes_on() {
    for setup in [Setup::PIPE, Setup::PTY, Setup::PIPE_WITHOUT_CGROUP, Setup::PTY_WITHOUT_CGROUP] {
        let home = setup.home();
        let file = home.folder().join("go");
        let command = [helper!("close_all"), file.to_str().expect("a path"), "17"];
        let run = home.start_ready(&setup.options(&[]), &command);
        assert_eq!(home.record(&run)["state"], "running");
        std::fs::write(&file, "").expect("written");
        let result = home.wait(&run);
        assert_eq!((&result["termination"], &result["exitCode"]), (&"exit".into(), &17.into()));
        assert_eq!(result["extinct"], "yes");
    }
}

/// X2: the last lines, a pattern, the time, and JSON.
#[test]
fn logs_can_be_cut_and_searched() {
    let home = Home::new();
    let script = "for i in $(seq 1 200); do echo line $i; done; echo odd >&2";
    let run = home.start(&[], &["sh", "-c", script]);
    home.wait(&run);
    let text = |arguments: &[&str]| home.ostler(&[&["logs", &run], arguments].concat()).ok().text();
    assert_eq!(text(&["-n", "3"]), "line 199\nline 200\nodd\n");
    assert_eq!(text(&["-n", "0"]), "");
    assert_eq!(text(&["--grep", "^line 1[0-9]$"]).lines().count(), 10);
    assert_eq!(text(&["--since", "10m"]).lines().count(), 201);
    assert_eq!(text(&[]).lines().count(), 201);
    assert_eq!(text(&["--grep", "nothing like it"]), "");
    let stamped = text(&["-t", "-n", "1"]);
    assert!(stamped.ends_with(" odd\n") && stamped.len() > 15, "{stamped}");
    let document = home.ostler(&["logs", "--json", "-n", "2", &run]).ok().json();
    assert_eq!(document.as_array().map(Vec::len), Some(2), "{document}");
    assert_eq!((&document[1]["stream"], &document[1]["text"]), (&"stderr".into(), &"odd".into()));
    assert!(document[1]["atMs"].as_u64().is_some_and(|at| at > 1_600_000_000_000), "{document}");
    let bad = home.ostler(&["logs", "--grep", "(", &run]);
    assert_eq!(bad.code, 2, "{bad:?}");
}

/// X2: `logs --since` prints no older output.
#[test]
fn logs_since_leaves_out_what_is_older() {
    let home = Home::new();
    let script = "echo old; sleep 2.2; echo new";
    let run = home.start(&[], &["sh", "-c", script]);
    home.wait(&run);
    let recent = home.ostler(&["logs", "--since", "1s", &run]).ok().text();
    assert!(!recent.contains("old"), "{recent}");
}

/// X2: `logs -f` prints new output, and ends with the run.
#[test]
fn logs_follow_until_the_run_ends() {
    let home = Home::new();
    let script = "echo one; while read line; do echo \"<$line>\"; done; echo two";
    let run = home.start(&["--stdin"], &["sh", "-c", script]);
    let follower = home.spawn(&["logs", "-f", &run]);
    let by_line = home.spawn(&["logs", "-f", "--json", "--grep", "<", &run]);
    follower.until_written("one");
    home.ostler(&["write", &run, "--text", "a\n"]).ok();
    follower.until_written("<a>");
    by_line.until_written("<a>");
    home.ostler(&["write", &run, "--eof", "--text", "b\n"]).ok();
    assert_eq!(follower.finish().ok().text(), "one\n<a>\n<b>\ntwo\n");
    assert_eq!(by_line.finish().ok().text().lines().count(), 2);
}

/// R12: the stored output of a run is bounded, and the gap is reported.
#[test]
fn the_oldest_output_is_removed_first_and_the_gap_is_reported() {
    let home = Home::with(&[("OSTLER_LOG_BYTES", "1000000")]);
    let run = home.start(&[], &["sh", "-c", "seq 1 2000000"]);
    assert_eq!(home.wait(&run)["exitCode"], 0);
    let log = home.ostler(&["logs", &run]).ok();
    assert!(log.text().ends_with("\n2000000\n"), "the newest output is stored");
    assert!(log.stderr.contains("not stored"), "{}", log.stderr);
    let size: u64 = std::fs::read_dir(home.path().join("runs").join(&run))
        .expect("the run's folder")
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .map(|metadata| metadata.len())
        .sum();
    assert!(size < 16 << 20, "{size} bytes are kept");
}
