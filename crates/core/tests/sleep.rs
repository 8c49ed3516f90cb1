//! Units that are suspended and woken.

#[path = "pools/common.rs"]
mod common;
#[path = "common/unit_spec.rs"]
mod unit_spec;

use common::{Town, declared};
use ostler_core::Event;
use ostler_core::unit::{Ask, Idle, UnitEvent};
use ostler_model::{Actor, Desired, IdleSpec, Suspend, UnitState};

const AFTER_MS: u64 = 60_000;

/// A pool with one slot, an agent that sleeps after a minute, and one that does not.
fn town() -> Town {
    let mut town = Town::new(1);
    let mut agent = declared("a");
    agent.spec.idle = Some(IdleSpec { after_ms: AFTER_MS, suspend: Suspend::Stop });
    agent.spec.depends_on = Vec::new();
    let by = Actor::Supervisor;
    let event = Event::UnitsDeclared { declared: vec![agent], gone: Vec::new(), start: true, by };
    town.step(event);
    town
}

fn says(town: &mut Town, idle: Idle) {
    town.idle = idle;
    town.pass(AFTER_MS);
}

fn since(town: &Town, ago_ms: u64) -> Idle {
    Idle::Since { mono_ms: town.now.mono_ms.saturating_sub(ago_ms) }
}

fn wake(town: &mut Town) {
    let (by, why) = (Actor::Supervisor, "mail from overseer".to_owned());
    town.step(Event::Unit { name: "a".to_owned(), event: UnitEvent::Wake { by, why } });
}

/// W15: idle for long enough, it is stopped, and that is no failure: it stays wanted, and nothing is counted.
#[test]
fn an_idle_unit_sleeps_and_is_still_wanted() {
    let mut town = town();
    let idle = since(&town, 0);
    says(&mut town, idle);
    assert_eq!((town.live().len(), town.state("a")), (0, UnitState::Suspended));
    assert_eq!(town.why("a"), "idle for 60 s without work");
    let record = &town.units["a"];
    assert_eq!((record.desired, record.tally.restarts), (Desired::Running, 0));
    assert!(record.ends.is_empty() && record.tally.failures_ms.is_empty());
    wake(&mut town);
    assert_eq!((town.live(), town.state("a")), (vec!["a"], UnitState::Ready));
    assert!(town.units["a"].suspended.is_none());
}

/// W15: a unit that is kept awake is checked again, and its idle time counts from its last activity.
#[test]
fn a_unit_that_has_something_to_do_stays_awake() {
    let mut town = town();
    says(&mut town, Idle::No);
    assert_eq!(town.live(), ["a"]);
    let idle = since(&town, 10_000);
    town.idle = idle;
    town.pass(30_000);
    assert_eq!(town.live(), ["a"], "it is idle for 40 s only");
    town.pass(19_999);
    assert_eq!(town.live(), ["a"]);
    town.pass(1);
    assert_eq!(town.state("a"), UnitState::Suspended);
}

/// W15: a suspended unit stays suspended through a crash of the supervisor, and its slot is free.
#[test]
fn a_sleeper_leaves_its_place() {
    let mut town = town();
    town.declare(&["b"]);
    assert_eq!(town.state("b"), UnitState::Queued);
    let idle = since(&town, 0);
    says(&mut town, idle);
    assert_eq!(town.live(), ["b"]);
    town.crash();
    assert_eq!((town.live(), town.state("a")), (vec!["b"], UnitState::Suspended));
    wake(&mut town);
    assert_eq!(town.why("a"), "pool p is full: 1 of 1 running (b)");
    town.end("b", 0);
    assert_eq!(town.live(), ["a"]);
}

/// W15: a person's request counts: a start wakes it, a stop ends its sleep, and so does a declaration without `idle`.
#[test]
fn a_person_wakes_it_or_stops_it() {
    let mut town = town();
    for ask in [Ask::Start, Ask::Restart] {
        let idle = since(&town, 0);
        says(&mut town, idle);
        assert_eq!(town.state("a"), UnitState::Suspended);
        town.ask("a", ask);
        assert_eq!(town.live(), ["a"]);
    }
    let idle = since(&town, 0);
    says(&mut town, idle);
    town.ask("a", Ask::Stop);
    assert_eq!(town.state("a"), UnitState::Stopped);
    wake(&mut town);
    assert_eq!(town.state("a"), UnitState::Stopped, "mail starts nothing that a person stopped");
    town.ask("a", Ask::Start);
    let idle = since(&town, 0);
    says(&mut town, idle);
    town.declare(&["a"]);
    assert_eq!(town.live(), ["a"]);
}

/// W15: woken while it is being suspended, it starts again as soon as its run has ended.
#[test]
fn a_wake_during_its_end_is_not_lost() {
    let mut town = town();
    town.ends_slowly = true;
    let idle = since(&town, 0);
    says(&mut town, idle);
    assert_eq!(town.state("a"), UnitState::Stopping);
    let before = town.run_of("a");
    wake(&mut town);
    town.finish(before);
    assert_eq!(town.live(), ["a"]);
    assert_ne!(town.run_of("a"), before);
}

/// W15: the supervisor dies while it suspends a unit: the next one continues.
#[test]
fn a_crash_while_it_is_put_to_sleep() {
    let mut town = town();
    town.ends_slowly = true;
    let idle = since(&town, 0);
    says(&mut town, idle);
    let run = town.run_of("a");
    town.crash();
    assert_eq!(town.state("a"), UnitState::Stopping);
    town.finish(run);
    assert_eq!((town.live().len(), town.state("a")), (0, UnitState::Suspended));
}
