//! Random histories of a pool.

use crate::common::{Town, pool};
use ostler_core::unit::Ask;
use ostler_model::UnitState;
use std::collections::BTreeMap;

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const HISTORIES: u64 = 2_000;
const STEPS: u64 = 60;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// The waiting members, next one first, as the pool reports them.
fn line(town: &Town) -> Vec<String> {
    let views = town.world.pool_views(town.now);
    views.into_iter().next().map(|view| view.queued).unwrap_or_default()
}

fn something(town: &mut Town, random: &mut Random, most: &mut u32) {
    let name = NAMES[random.below(6) as usize];
    match random.below(14) {
        0..3 => town.declare(&[name]),
        3 | 4 => town.ask(name, Ask::Start),
        5 => town.ask(name, Ask::Stop),
        6 => town.ask(name, Ask::Restart),
        7 => {
            let scope = ["k", "l"][random.below(2) as usize];
            town.run(Some(scope).filter(|_| random.below(2) == 0));
        }
        8..11 => {
            let live = town.live();
            if !live.is_empty() {
                let name = live[random.below(live.len() as u64) as usize].to_owned();
                town.end(&name, random.below(2) as i32);
            }
        }
        11 => town.pass([10, 1_000, 9_000, 40_000][random.below(4) as usize]),
        12 => {
            let max = 1 + random.below(3) as u32;
            *most = (*most).max(max);
            town.declare_pool(pool(max));
        }
        _ => {
            town.memory.pressure = Some([0, 50_00][random.below(2) as usize]);
            if random.below(4) == 0 {
                town.crash();
            }
        }
    }
}

/// W12: in no history are there more live members than the pool ever allowed, no member waits while a slot is free,
/// and no later member starts before an earlier one.
#[test]
fn no_history_breaks_a_pool() {
    for seed in 0..HISTORIES {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut most = 1 + random.below(3) as u32;
        let mut town = Town::new(most);
        for step in 0..STEPS {
            let (before, had) = (line(&town), town.alive.clone());
            something(&mut town, &mut random, &mut most);
            let description = format!("seed {seed}, step {step}");
            assert!(
                town.alive.len() <= most as usize,
                "{description}: {:?} of {most}",
                town.live()
            );
            in_order(&before, &town, &had, &description);
        }
        town.memory.pressure = Some(0);
        for _ in 0..5 {
            town.pass(1_000);
        }
        let max = town.pools["p"].max.unwrap_or(u32::MAX) as usize;
        let places = town.world.pool_views(town.now)[0].running.len();
        assert!(
            line(&town).is_empty() || places >= max,
            "seed {seed}: {:?} are waiting",
            line(&town)
        );
    }
}

/// When a member of the queue starts, no member before it is still waiting.
fn in_order(
    before: &[String],
    town: &Town,
    had: &BTreeMap<ostler_model::RunId, String>,
    description: &str,
) {
    let after = line(town);
    let is_new = |name: &String| {
        town.alive.iter().any(|(run, known)| known == name && !had.contains_key(run))
    };
    let Some(last) = before.iter().rposition(is_new) else { return };
    for name in &before[..last] {
        assert!(
            !after.contains(name),
            "{description}: {name} was passed over: {before:?} then {after:?}"
        );
    }
}

/// W12: every member gets a turn, even next to units that crash again and again.
#[test]
fn nobody_waits_for_ever() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let mut town = Town::new(2);
        town.declare(&NAMES);
        for _ in 0..400 {
            let live = town.live();
            if !live.is_empty() {
                let name = live[random.below(live.len() as u64) as usize].to_owned();
                town.end(&name, 1);
            }
            town.pass(random.below(12_000));
        }
        for name in NAMES {
            let turns = town.started.iter().filter(|started| *started == name).count();
            assert!(turns >= 5, "seed {seed}: {name} had {turns} turns: {:?}", town.started);
        }
        assert!(NAMES.iter().all(|name| town.state(name) != UnitState::Error));
    }
}
