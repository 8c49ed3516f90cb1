//! A registry that another program keeps locked: an `sqlite3` that was left open in a transaction.

use crate::both;
use ostler_e2e::{Registry, Signal, eventually_within};
use std::time::{Duration, Instant};

/// How long a locked registry may delay any caller. The watchdog would replace the supervisor after 10 s.
const ANSWER_MOST: Duration = Duration::from_secs(8);

/// D21: while another program has locked the registry, callers are answered, a new run is refused with the reason,
/// and the supervisor stays. Once the lock is gone, everything goes on by itself.
#[test]
fn a_locked_registry_stops_no_run() {
    for home in both() {
        home.ostler(&["start", "--name", "web", "--", "sleep", "6301"]).ok();
        let supervisor = home.supervisor_pid();
        let web = web_of(&home).expect("it runs");
        let registry = Registry::open(&home);
        registry.connection.execute_batch("BEGIN IMMEDIATE").expect("locked");
        let began = Instant::now();
        ostler_e2e::signal(web, Signal::KILL);
        // Longer than the watchdog waits for a heartbeat.
        while began.elapsed() < Duration::from_secs(12) {
            let asked = Instant::now();
            home.ostler(&["ls"]).ok();
            home.ostler(&["runs"]).ok();
            assert!(asked.elapsed() < ANSWER_MOST, "{:?}", asked.elapsed());
        }
        let refused = home.ostler(&["run", "--", "true"]);
        assert_eq!(refused.code, 125, "{refused:?}");
        assert!(refused.stderr.contains("another program has locked the registry"), "{refused:?}");
        assert_eq!(home.supervisor_pid(), supervisor, "the same supervisor all the time");
        registry.connection.execute_batch("ROLLBACK").expect("released");
        eventually_within(Duration::from_secs(30), "the unit runs again", || {
            web_of(&home).filter(|pid| *pid != web)
        });
        assert_eq!(home.run(&[], &["true"])["exitCode"], 0);
        home.stop();
    }
}

/// D21: a supervisor that starts while the registry is locked takes its runs up as soon as it may.
#[test]
fn a_supervisor_starts_when_the_lock_is_gone() {
    for home in both() {
        let run = home.start_ready(&[], &["sh", "-c", "echo ready; exec sleep 6302"]);
        let registry = Registry::open(&home);
        registry.connection.execute_batch("BEGIN IMMEDIATE").expect("locked");
        home.kill_supervisor();
        let log = home.file("ostler.log");
        eventually_within(Duration::from_secs(30), "it says why it cannot start", || {
            let text = std::fs::read_to_string(&log).ok()?;
            text.contains("another program has locked the registry").then_some(())
        });
        registry.connection.execute_batch("ROLLBACK").expect("released");
        eventually_within(Duration::from_secs(60), "it is taken up", || {
            home.supervisor()?;
            (home.count(&run, "adopted") == 1).then_some(())
        });
        assert!(home.root(&run).is_alive());
        home.stop();
    }
}

fn web_of(home: &ostler_e2e::Home) -> Option<i32> {
    let listed = home.ostler(&["ls", "--json"]).ok().json();
    let found = listed.as_array()?.iter().find(|view| view["unit"] == "web")?["pid"].as_i64()?;
    i32::try_from(found).ok()
}
