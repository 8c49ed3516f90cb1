//! Pools, one case at a time.

use crate::common::{FILE, Town, declared, pool};
use ostler_core::unit::Ask;
use ostler_core::{Event, MachineMemory};
use ostler_model::{Actor, PoolSpec, RunState, UnitState, What};

/// W12: at most `max` members run; the others wait in the order of arrival, and each says why.
#[test]
fn the_surplus_waits_in_its_order() {
    let mut town = Town::new(2);
    town.declare(&["a", "b", "c", "d"]);
    assert_eq!(town.live(), ["a", "b"]);
    assert_eq!(town.why("c"), "pool p is full: 2 of 2 running (a, b)");
    assert_eq!(town.why("d"), "pool p is full: 2 of 2 running (a, b); 1 ahead in the queue");
    let (run, name) = town.run(None);
    assert_eq!(town.records[&run].state, RunState::Queued);
    let why = town.world.why_queued(run, town.now).expect("it waits");
    assert_eq!(why, "pool p is full: 2 of 2 running (a, b); 2 ahead in the queue");
    town.end("b", 0);
    town.end("a", 0);
    assert_eq!(town.live(), ["c", "d"]);
    town.end("c", 0);
    assert_eq!(town.started, ["a", "b", "c", "d", &*name]);
}

/// W12: a member that is restarted keeps its slot; so does one that crashed and restarts soon.
#[test]
fn a_restart_keeps_its_place() {
    let mut town = Town::new(1);
    town.declare(&["a", "b"]);
    town.ask("a", Ask::Restart);
    assert_eq!(town.live(), ["a"]);
    town.end("a", 1);
    assert!(town.live().is_empty(), "its slot is kept while it waits for its restart");
    assert_eq!(town.state("b"), UnitState::Queued);
    town.pass(1_000);
    assert_eq!(town.live(), ["a"]);
}

/// W12: a crash loop blocks no member: after three failures in a row its slot is free.
#[test]
fn a_crash_loop_gives_way() {
    let mut town = Town::new(1);
    town.declare(&["a", "b", "c"]);
    for wait_ms in [1_000, 2_000, 4_000] {
        town.end("a", 1);
        town.pass(wait_ms);
        assert_eq!(town.live(), ["a"]);
    }
    town.end("a", 1);
    assert_eq!(town.live(), ["b"]);
    town.pass(8_000);
    assert_eq!(town.why("a"), "pool p is full: 1 of 1 running (b); 1 ahead in the queue");
    town.end("b", 0);
    assert_eq!(town.live(), ["c"], "it queues behind those that wait");
}

/// W12: a member that waits longer than ten seconds for its restart does not block others.
#[test]
fn a_long_wait_gives_way() {
    let mut town = Town::new(1);
    let mut slow = declared("a");
    slow.spec.restart.backoff.initial_ms = 10_001;
    let by = Actor::Supervisor;
    let declared = vec![slow, declared("b")];
    town.step(Event::UnitsDeclared { declared, gone: Vec::new(), start: true, by });
    town.end("a", 1);
    assert_eq!((town.live(), town.state("a")), (vec!["b"], UnitState::Backoff));
}

/// W12: a member that is stopped while it waits leaves the queue.
#[test]
fn a_stop_ends_the_wait() {
    let mut town = Town::new(1);
    town.declare(&["a", "b", "c"]);
    let (run, _) = town.run(None);
    town.ask("b", Ask::Stop);
    assert_eq!(town.state("b"), UnitState::Stopped);
    let by = Actor::Supervisor;
    town.step(Event::CancelRequested { run, by, why: "test", said: None });
    assert_eq!(town.records[&run].state, RunState::Exited);
    town.end("a", 0);
    assert_eq!(town.live(), ["c"]);
    town.ask("b", Ask::Start);
    assert_eq!(town.why("b"), "pool p is full: 1 of 1 running (c)");
}

/// W12: a larger limit starts waiting members, a smaller one ends none.
#[test]
fn a_changed_limit_ends_nobody() {
    let mut town = Town::new(1);
    town.declare(&["a", "b", "c", "d"]);
    town.declare_pool(pool(3));
    assert_eq!(town.live(), ["a", "b", "c"]);
    town.declare_pool(pool(1));
    assert_eq!(town.live(), ["a", "b", "c"]);
    assert_eq!(town.why("d"), "pool p is full: 3 of 1 running (a, b, c)");
    town.end("a", 0);
    town.end("b", 0);
    assert_eq!(town.live(), ["c"]);
    town.end("c", 0);
    assert_eq!(town.live(), ["d"]);
}

/// W12: after a crash of the supervisor live members count, and the queue is as before.
#[test]
fn a_crash_of_the_supervisor_keeps_the_line() {
    let mut town = Town::new(2);
    town.declare(&["d", "c"]);
    town.declare(&["b"]);
    town.declare(&["a"]);
    let (run, name) = {
        town.end("c", 0);
        town.run(None)
    };
    assert_eq!(town.live(), ["b", "d"]);
    assert_eq!(town.records[&run].state, RunState::Queued);
    town.crash();
    assert_eq!(town.live(), ["b", "d"]);
    assert_eq!(town.why("a"), "pool p is full: 2 of 2 running (b, d)");
    town.end("b", 0);
    assert_eq!(town.live(), ["a", "d"]);
    town.end("d", 0);
    assert_eq!(town.live(), ["a", &*name], "a queued run stays queued");
}

/// W12: without a guardian a queued run cannot be started: it ends without having started.
#[test]
fn a_run_that_nobody_kept_is_over() {
    let mut town = Town::new(1);
    town.declare(&["a"]);
    let (run, name) = town.run(None);
    town.crash_with(false);
    let record = &town.records[&run];
    assert_eq!((record.state, record.pid), (RunState::Exited, None));
    town.end("a", 0);
    assert!(!town.started.contains(&name));
}

/// W12: after a restart of everything, members that ran go first.
#[test]
fn members_that_ran_come_back_first() {
    let mut town = Town::new(2);
    town.declare(&["c", "d"]);
    town.declare(&["a", "b"]);
    assert_eq!(town.live(), ["c", "d"]);
    town.alive.clear();
    town.started.clear();
    town.crash();
    assert_eq!(town.started, ["c", "d"]);
}

/// W13: no new member starts while memory is short or under pressure; a restart is no new member.
#[test]
fn memory_pressure_starts_nobody_new() {
    let mut town = Town::new(4);
    town.declare(&["a"]);
    town.memory.pressure = Some(27_00);
    town.pass(1_000);
    town.declare(&["b"]);
    assert_eq!(town.why("b"), "memory pressure (PSI some avg10 27 %)");
    town.ask("a", Ask::Restart);
    assert_eq!(town.live(), ["a"], "a restart is no new member");
    town.memory.pressure = Some(3_00);
    town.pass(1_000);
    assert_eq!(town.live(), ["a", "b"]);
}

/// W13: a member that waits for memory starts when there is enough, without any request.
#[test]
fn free_memory_is_looked_at_while_somebody_waits_for_it() {
    let mut town = Town::new(4);
    let little = MachineMemory { free_bytes: Some(3 << 30), pressure: None };
    town.memory = little;
    town.declare_pool(PoolSpec { min_free_memory_bytes: Some(4 << 30), ..pool(4) });
    town.declare(&["a"]);
    assert_eq!(town.why("a"), "less than 4G of memory free (3G)");
    let due = town.world.next_due();
    assert_eq!(due, town.now.mono_ms + 1_000, "memory is sampled again soon");
    town.memory.free_bytes = Some(4 << 30);
    town.pass(1_000);
    assert_eq!(town.live(), ["a"]);
    let lease_only = town.world.next_due();
    assert!(lease_only > town.now.mono_ms + 1_000, "no member waits, so memory is not sampled");
}

/// W12: a run that replaces another of its scope takes over its slot.
#[test]
fn a_replacement_takes_the_place_of_the_one_before() {
    let mut town = Town::new(1);
    let (_, _) = town.run(Some("k"));
    town.declare(&["a"]);
    let (_, second) = town.run(Some("k"));
    assert_eq!(town.live(), [&*second]);
    assert_eq!(town.state("a"), UnitState::Queued);
}

/// W12: a member waits for its dependency first, and holds no slot meanwhile.
#[test]
fn a_member_that_misses_another_holds_no_place() {
    let mut town = Town::new(1);
    let mut needy = declared("a");
    needy.spec.depends_on = vec!["db".to_owned()];
    let mut db = declared("db");
    db.spec.pool = None;
    let by = Actor::Supervisor;
    let declared = vec![needy, db, declared("b")];
    town.step(Event::UnitsDeclared { declared, gone: Vec::new(), start: true, by });
    assert_eq!(town.live(), ["b", "db"], "it had to wait for db, and b did not");
    town.end("b", 0);
    assert_eq!(town.live(), ["a", "db"]);
    town.ask("db", Ask::Stop);
    town.ask("b", Ask::Start);
    assert_eq!(town.state("b"), UnitState::Queued);
    town.ask("a", Ask::Restart);
    assert_eq!((town.live(), town.state("a")), (vec!["b"], UnitState::Waiting));
}

/// W12: a pool that its file no longer declares stays while a unit names it.
#[test]
fn a_dropped_pool_goes_with_its_last_member() {
    let mut town = Town::new(1);
    town.declare(&["a"]);
    let (run, _) = town.run(None);
    town.step(Event::PoolsDeclared { pools: Vec::new(), file: FILE.to_owned() });
    assert_eq!(town.pools["p"].file, None);
    assert_eq!(town.records[&run].state, RunState::Queued);
    let (declared, gone) = (Vec::new(), vec!["a".to_owned()]);
    let by = Actor::Supervisor;
    town.step(Event::UnitsDeclared { declared, gone, start: false, by });
    assert!(town.pools.contains_key("p") && town.alive.contains_key(&run));
    let name = town.live()[0].to_owned();
    town.end(&name, 0);
    assert!(town.pools.is_empty());
}

/// W12: during a stop of the daemon no member starts in a freed slot.
#[test]
fn a_stop_of_the_daemon_starts_nobody() {
    let mut town = Town::new(1);
    town.declare(&["a", "b"]);
    town.run(None);
    town.step(Event::ShutdownRequested { by: Actor::Supervisor });
    assert!(town.live().is_empty());
    assert_eq!(town.started, ["a"]);
}

/// W12: each wait has one entry when it begins and one when it ends, for units as well.
#[test]
fn a_wait_is_in_the_journal_once_at_its_begin_and_once_at_its_end() {
    let mut town = Town::new(1);
    town.declare(&["a", "b"]);
    let count = |town: &Town, what: What| {
        town.journal.iter().filter(|(known, unit)| *known == what && unit == "b").count()
    };
    assert_eq!((count(&town, What::Queued), count(&town, What::Admitted)), (1, 0));
    town.pass(10_000);
    assert_eq!((count(&town, What::Queued), count(&town, What::Admitted)), (1, 0));
    town.ask("a", Ask::Stop);
    assert_eq!(town.live(), ["b"]);
    assert_eq!((count(&town, What::Queued), count(&town, What::Admitted)), (1, 1));
}
