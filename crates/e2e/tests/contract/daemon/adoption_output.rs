//! No line of output is lost or repeated when the supervisor dies, however fast the run writes.

use crate::daemon::setup::{Counting, QUICK, answering, quick_home, replace_supervisor};
use crate::setup::{Setup, on_every_backend};
use ostler_e2e::{Home, eventually, helper};

on_every_backend! {
    /// D8, R12: numbered lines through five supervisors: each once, in order.
    numbered: no_line_is_lost_or_doubled_pipe no_line_is_lost_or_doubled_pty
        no_line_is_lost_or_doubled_pipe_without_cgroup no_line_is_lost_or_doubled_pty_without_cgroup
}

fn numbered(setup: Setup) {
    let home = setup.home_with(&[QUICK]);
    let options = setup.options(&[]);
    let steady = Counting::start(&home, &options, 3, 1, 17);
    let bursts = Counting::start(&home, &options, 2_000, 20, -15);
    for _ in 0..5 {
        replace_supervisor(&home);
    }
    steady.end();
    bursts.end();
    let result = home.wait(&steady.run);
    assert_eq!((&result["termination"], &result["exitCode"]), (&"exit".into(), &17.into()));
    let result = home.wait(&bursts.run);
    assert_eq!((&result["termination"], &result["exitSignal"]), (&"signal".into(), &15.into()));
    assert!(steady.assert_whole(&home) > 100);
    assert!(bursts.assert_whole(&home) > 2_000);
}

/// D8, R12: output at full speed, with the supervisor killed repeatedly while it moves the output.
#[test]
fn output_at_full_speed_is_complete_across_crashes() {
    let home = Home::with(&[("OSTLER_WAIT_MS", "10"), ("OSTLER_LOG_BYTES", "4000000000")]);
    let flood = Counting::start(&home, &[], 5_000, 0, 0);
    let second = Counting::start(&home, &[], 700, 0, 0);
    for round in 0..8 {
        eventually("output was read again", || {
            let bytes = home.ostler(&["logs", "-n", "1", &flood.run]).ok().text();
            (bytes.len() > 1 || round == 0).then_some(())
        });
        replace_supervisor(&home);
    }
    flood.end();
    second.end();
    assert_eq!(home.wait(&flood.run)["exitCode"], 0);
    assert_eq!(home.wait(&second.run)["exitCode"], 0);
    assert!(flood.assert_whole(&home) > 5_000);
    assert!(second.assert_whole(&home) > 700);
}

/// R12: `logs` prints the output up to its call, and ends, however fast the run writes.
#[test]
fn logs_of_a_flood_end() {
    let home = Home::with(&[("OSTLER_LOG_BYTES", "4000000000")]);
    let flood = Counting::start(&home, &[], 5_000, 0, 0);
    home.until_logged(&flood.run, "line 9999\n");
    // A reader that is slower than the flood would never catch up with it.
    let script = "\"$0\" logs -n 3 \"$1\" | dd bs=4 status=none";
    let mut slowly = home.program("sh");
    slowly.args(["-c", script]).arg(Home::binary()).arg(&flood.run);
    let shown = home.spawn_program(slowly).finish().ok().text();
    flood.end();
    assert!(shown.lines().count() >= 3, "{} bytes", shown.len());
    home.wait(&flood.run);
}

/// D8, R12: both streams stay apart, each whole, across a crash.
#[test]
fn both_streams_stay_separate_across_a_crash() {
    let home = quick_home();
    let gate = home.folder().join("gate");
    let script = "i=0; until test -e \"$0\"; do echo out $i; echo err $i >&2; i=$((i+1)); \
        sleep 0.002; done; echo end $i; exit 0";
    let run = home.start(&[], &["sh", "-c", script, gate.to_str().expect("a path")]);
    for _ in 0..4 {
        replace_supervisor(&home);
    }
    std::fs::write(&gate, "").expect("written");
    home.wait(&run);
    let lines = home.ostler(&["logs", "--json", &run]).ok().json();
    let lines = lines.as_array().expect("a list");
    let of = |stream: &str| -> Vec<String> {
        let of_stream = lines.iter().filter(|line| line["stream"] == stream);
        of_stream.filter_map(|line| Some(line["text"].as_str()?.trim_end().to_owned())).collect()
    };
    let (mut out, err) = (of("stdout"), of("stderr"));
    assert_eq!(out.pop(), Some(format!("end {}", err.len())));
    for (number, (out, err)) in out.iter().zip(&err).enumerate() {
        assert_eq!((out, err), (&format!("out {number}"), &format!("err {number}")));
    }
    assert_eq!(out.len(), err.len());
}

/// D8, R12: output just before the exit, while no supervisor runs, is read later.
#[test]
fn output_before_an_exit_without_a_supervisor_is_complete() {
    let home = Home::with(&[("OSTLER_WAIT_MS", "800")]);
    let gate = home.folder().join("gate");
    // As much as a pipe holds: without a supervisor, more would block.
    let script = format!(
        "echo ready; until test -e $0; do sleep 0.01; done; exec {} 60000 23",
        helper!("flood")
    );
    let run = home.start_ready(&[], &["sh", "-c", &script, gate.to_str().expect("a path")]);
    let root = home.root(&run);
    let old = home.supervisor().expect("a supervisor");
    home.kill_supervisor();
    std::fs::write(&gate, "").expect("written");
    root.wait_gone();
    answering(&home, &old);
    assert_eq!(home.wait(&run)["exitCode"], 23);
    let log = home.ostler(&["logs", &run]).ok();
    let flooded: Vec<u8> = (0..60_000).map(|index| (index * 31 % 251) as u8).collect();
    assert!(log.stdout == [b"ready\n".as_slice(), &flooded].concat(), "{} bytes", log.stdout.len());
}
