//! A stop when no supervisor can be started any more.

use ostler_e2e::{Home, eventually, helper};
use std::time::{Duration, Instant};

/// D4: the registry is ruined and every new supervisor refuses: the guardian ends everything itself, also
/// what ignores TERM or has left its session, and the stop is bounded.
#[test]
fn a_stop_without_any_supervisor_leaves_nothing() {
    let home = Home::new();
    home.start_ready(&[], &["sh", "-c", "echo ready; sleep 981 & wait"]);
    home.start_ready(&[], &[helper!("ignore_term"), "2"]);
    home.start(&[], &["sh", "-c", "setsid sleep 982 & wait"]);
    eventually("all of it is there", || (home.processes_of_runs().len() >= 5).then_some(()));
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
    // With a sound registry the next one starts, and clears away the empty boundaries.
    std::fs::remove_file(home.file("registry.db")).expect("removed");
    assert_eq!(home.records().len(), 0);
    assert_eq!(home.boundaries().1.len(), 0);
}
