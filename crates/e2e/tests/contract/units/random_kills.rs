//! W2, X4: SIGKILL of the supervisor at random moments while units crash and restart: never two copies of one.
//!
//! `OSTLER_KILLS=n` sets how many (15 unless told), `OSTLER_SEED=n` repeats a history.

use crate::daemon::setup::answering;
use crate::units::setup::{AT_ONCE, Project, assert_single};
use ostler_e2e::{Signal, eventually};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    /// From the environment, else from the clock; printed, so that it can be repeated.
    pub fn seeded() -> Self {
        let seed = number("OSTLER_SEED").unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.expect("after 1970").as_nanos() as u64 | 1
        });
        println!("OSTLER_SEED={seed}");
        Self(seed.max(1))
    }
}

pub fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Watches until the test stops it.
pub fn while_watched<T>(project: &Project, act: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    let (home, stopped) = (&project.home, &stop);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                assert_single(home);
                // The polling interval.
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        stop.store(true, Ordering::Relaxed);
        let seen = watcher.join();
        match (done, seen) {
            (Ok(done), Ok(())) => done,
            (Err(panic), _) | (_, Err(panic)) => std::panic::resume_unwind(panic),
        }
    })
}

/// W2, X4: see above. A stopped unit never runs.
#[test]
fn no_unit_ever_has_two_copies() {
    let mut random = Random::seeded();
    let kills = number("OSTLER_KILLS").unwrap_or(15);
    let steady = "command = [\"sleep\", \"1000\"]";
    let brittle =
        |ms: u32| format!("command = [\"sh\", \"-c\", \"sleep 0.{ms:03}; exit 1\"]\n{AT_ONCE}");
    let temporary = "command = [\"sh\", \"-c\", \"sleep 0.050; exit 75\"]";
    let killed = format!("{steady}\n{AT_ONCE}");
    let waits = "command = [\"sh\", \"-c\", \"exit 1\"]\nrestart = { initial = \"30ms\", max = \"30ms\", limit = { count = 0, window = \"1s\" } }";
    let project = Project::of(&[
        ("steady", steady),
        ("stopped", steady),
        ("brittle-a", &brittle(10)),
        ("brittle-b", &brittle(120)),
        ("temporary", temporary),
        ("killed", &killed),
        ("waits", waits),
    ]);
    project.call(&["up", "--no-wait"]).ok();
    project.until_state("steady", "ready");
    project.until_state("stopped", "ready");
    project.call(&["stop", "stopped"]).ok();
    let steady = project.process("steady");
    while_watched(&project, || {
        for _ in 0..kills {
            // The delay between the two events, not a wait for something.
            std::thread::sleep(Duration::from_millis(random.below(120)));
            if random.below(2) == 0 {
                for process in project.copies().remove("killed").unwrap_or_default() {
                    process.signal(Signal::KILL);
                }
            }
            // The delay between the two events, not a wait for something.
            std::thread::sleep(Duration::from_millis(random.below(4)));
            let old = eventually("a supervisor", || project.home.supervisor());
            old.signal(Signal::KILL);
            old.wait_gone();
            if random.below(4) > 0 {
                answering(&project.home, &old);
            }
        }
        project.until_state("killed", "ready");
    });
    assert!(steady.is_alive(), "a unit that never exits was never restarted");
    assert_eq!(project.process("steady"), steady);
    assert_eq!(project.copies_of("stopped"), 0);
    for unit in ["brittle-a", "brittle-b", "temporary", "killed", "waits"] {
        let restarts = project.view(unit)["restarts"].as_u64().expect("a count");
        assert!(restarts > 0, "{unit} was started");
    }
}
