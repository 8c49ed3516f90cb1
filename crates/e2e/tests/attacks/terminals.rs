//! Sizes and sequences without end: bounded.

use crate::both;
use crate::caps::{MEMORY_MOST, peak};
use ostler_e2e::{Door, Home, Terminal, helper};
use serde_json::json;

/// X7: a size that would take all memory is refused where it is written.
#[test]
fn a_size_that_is_too_large_is_refused_by_name() {
    for home in both() {
        for size in ["65535x65535", "1001x10", "10x1001"] {
            let output = home.ostler(&["run", "--pty", "--size", size, "--", "true"]);
            assert_eq!(output.code, 2, "{output:?}");
            let told = &output.stderr;
            assert!(told.contains(size) && told.contains("at most 1000 columns"), "{output:?}");
        }
        home.ostler(&["run", "--pty", "--size", "1000x1000", "--", "true"]).ok();
        home.stop();
    }
}

/// X7: the daemon clamps what a caller says of its window, at the attach and later.
#[test]
fn a_giant_window_is_clamped_by_the_daemon() {
    let home = Home::new();
    let run = home.start_ready(&["--pty"], &[helper!("sizes")]);
    let supervisor = home.supervisor().expect("a supervisor");
    let mut door = Door::connect(&home);
    let viewing = door.ask(
        "view",
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

/// X7: a sequence that does not end is not kept, whichever it is, and the screen works after it.
#[test]
fn a_sequence_without_an_end_is_not_kept() {
    let home = Home::new();
    home.ostler(&["start"]).ok();
    let supervisor = home.supervisor().expect("a supervisor");
    for begin in ["\\033]0;", "\\033]52;c;", "\\033P", "\\033_", "\\033X", "\\033^", "\\033["] {
        let script = format!(
            "printf '{begin}'; head -c 20000000 /dev/zero | tr '\\0' 1; printf '\\033\\\\\\r\\n\\030here\\n'; echo ready; exec sleep 614"
        );
        let run = home.start_ready(&["--pty"], &["sh", "-c", &script]);
        let screen = home.ostler(&["screen", &run]).ok().text();
        assert!(screen.contains("here"), "{begin}: {screen}");
        home.cancel(&run);
    }
    assert!(peak(&supervisor) < MEMORY_MOST, "{} MiB", peak(&supervisor));
    assert_eq!(home.supervisor(), Some(supervisor));
}
