//! A stop when no supervisor can be started any more.

use ostler_e2e::{Home, eventually, helper};
use std::time::{Duration, Instant};

/// D4: the registry is damaged and every new supervisor refuses to start: the guardian ends everything, also
/// processes that ignore TERM or left their session, and the stop is bounded in time.
#[test]
fn a_stop_without_a_supervisor_leaves_no_process() {
    let home = Home::new();
    home.start_ready(&[], &["sh", "-c", "echo ready; sleep 981 & wait"]);
    home.start_ready(&[], &[helper!("ignore_term"), "2"]);
    home.start(&[], &["sh", "-c", "setsid sleep 982 & wait"]);
    eventually("all processes run", || (home.processes_of_runs().len() >= 5).then_some(()));
    home.kill_supervisor();
    for name in ["registry.db", "registry.db-wal", "registry.db-shm"] {
        let _ = std::fs::remove_file(home.file(name));
    }
    std::fs::write(home.file("registry.db"), "this is no registry\n".repeat(500)).expect("written");
    let begun = Instant::now();
    let output = home.ostler(&["stop"]).ok();
    assert!(begun.elapsed() < Duration::from_secs(60), "{output:?}");
    assert!(home.processes().is_empty(), "{:?}", home.processes());
    let crashes = std::fs::read_to_string(home.file("crash.log")).expect("a crash log");
    assert!(crashes.contains("Exit code: 78"), "{crashes}");
    assert!(home.ostler(&["status"]).text().contains("stopped"));
    // With an intact registry the next supervisor starts, and removes the empty boundaries.
    std::fs::remove_file(home.file("registry.db")).expect("removed");
    assert_eq!(home.records().len(), 0);
    assert_eq!(home.boundaries().1.len(), 0);
}
