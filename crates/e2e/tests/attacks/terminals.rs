//! Sizes and sequences without end: bounded.

use crate::both;
use crate::caps::{MEMORY_MOST, peak};
use ostler_e2e::{ControlSocket, Home, PATIENCE, Terminal, eventually_within, helper};
use serde_json::json;

/// X7: a size that would take all memory is refused where it is written.
#[test]
fn a_size_that_is_too_large_is_refused_by_name() {
    for home in both() {
        for size in ["65535x65535", "1001x10", "10x1001"] {
            let output = home.ostler(&["run", "--pty", "--size", size, "--", "true"]);
            assert_eq!(output.code, 2, "{output:?}");
            let description = &output.stderr;
            assert!(
                description.contains(size) && description.contains("at most 1000 columns"),
                "{output:?}"
            );
        }
        home.ostler(&["run", "--pty", "--size", "1000x1000", "--", "true"]).ok();
        home.stop();
    }
}

/// X7: the daemon clamps the window size of a caller, at the attach and later.
#[test]
fn a_giant_window_is_clamped_by_the_daemon() {
    let home = Home::new();
    let run = home.start_ready(&["--pty"], &[helper!("sizes")]);
    let supervisor = home.supervisor().expect("a supervisor");
    let mut socket = ControlSocket::connect(&home);
    let viewing = socket.ask(
        "runs.view",
        json!({
            "run": run, "from": "screen", "follow": true, "interactive": true,
            "size": { "columns": 20_000, "rows": 20_000 },
        }),
    );
    assert_eq!(viewing["pty"], true);
    home.until_logged(&run, "size 1000x1000");
    assert!(peak(&supervisor) < 2 * MEMORY_MOST, "{} MiB", peak(&supervisor));
    assert_eq!(home.supervisor(), Some(supervisor));
}

/// X7: so does the client.
#[test]
fn an_attach_from_a_giant_window_is_clamped() {
    let home = Home::new();
    let run = home.start_ready(&["--pty"], &[helper!("sizes")]);
    let supervisor = home.supervisor().expect("a supervisor");
    let terminal = Terminal::start(home.command(&["attach", &run]), 100, 30);
    home.until_logged(&run, "size 100x30");
    terminal.resize(20_000, 15_000);
    home.until_logged(&run, "size 1000x1000");
    assert_eq!(home.supervisor(), Some(supervisor));
    home.cancel(&run);
    terminal.finish();
}

/// X7: a sequence that does not end is not kept.
#[test]
fn a_sequence_without_an_end_is_not_kept() {
    let home = Home::new();
    home.ostler(&["start"]).ok();
    let supervisor = home.supervisor().expect("a supervisor");
    let written = |begin: &str, name: &str, bytes: u64| {
        let note = home.folder().join(name);
        let script = format!(
            "printf '{begin}'; head -c {bytes} /dev/zero | tr '\\0' 1; touch {}; exec sleep 614",
            note.display()
        );
        let run = home.start(&["--pty"], &["sh", "-c", &script]);
        eventually_within(4 * PATIENCE, "all of it was written", || note.exists().then_some(()));
        home.cancel(&run);
        peak(&supervisor)
    };
    let before = written("", "plain", 1_000_000);
    let after = written("\\033]0;", "endless", 12_000_000);
    assert!(after - before < 6, "{before} MiB, then {after} MiB");
    assert_eq!(home.supervisor(), Some(supervisor.clone()));
}
