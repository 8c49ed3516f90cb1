//! Requests for units.

use crate::random::Random;
use crate::unit_spec::unit_spec;
use ostler_core::Event;
use ostler_core::unit::{Ask, Declared, UnitEvent};
use ostler_model::{
    Actor, Check, IdleSpec, Limits, Part, PoolSpec, ReadySpec, RestartLimit, RestartPolicy,
    Suspend, UnitSpec, When,
};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
/// A daemon part: declared with the units that need it, and never removed or stopped.
const PART: &str = "q";

pub const POOL: &str = "p";

pub fn pool(max: u32) -> PoolSpec {
    PoolSpec {
        name: POOL.to_owned(),
        max: Some(max),
        min_free_memory_bytes: Some(4 << 30),
        max_pressure: Some(PoolSpec::USUAL_MAX_PRESSURE),
        file: Some("f".to_owned()),
    }
}

/// Declares, removes, starts, stops or restarts some units.
pub fn something(random: &mut Random) -> Event {
    let by = Actor::Supervisor;
    let name = NAMES[random.below(4) as usize].to_owned();
    match random.below(12) {
        11 => Event::Unit { name, event: UnitEvent::Wake { by, why: "sim".to_owned() } },
        10 => {
            let pools = vec![pool(1 + random.below(2) as u32)];
            Event::PoolsDeclared { pools, file: "f".to_owned() }
        }
        0..4 => {
            let mut some = Vec::new();
            for name in NAMES {
                if random.chance(60) {
                    some.push(declared(name, random.below(3)));
                }
            }
            if some.iter().any(|unit| unit.spec.name == "d") {
                some.push(declared(PART, random.below(3)));
            }
            Event::UnitsDeclared { declared: some, gone: Vec::new(), start: random.chance(50), by }
        }
        4 => Event::UnitsDeclared { declared: Vec::new(), gone: vec![name], start: false, by },
        5 | 6 => Event::UnitsRequested { names: vec![name], ask: Ask::Stop, by },
        7 | 8 => Event::UnitsRequested { names: vec![name], ask: Ask::Start, by },
        _ => Event::UnitsRequested { names: vec![name], ask: Ask::Restart, by },
    }
}

fn declared(name: &str, version: u64) -> Declared {
    let spec = UnitSpec {
        argv: vec![format!("v{version}")],
        restart: RestartPolicy {
            // A part of Ostler has no limit and restarts after every end.
            when: if name == "c" || name == PART { When::Always } else { When::OnFailure },
            limit: (name == "a").then_some(RestartLimit { count: 3, window_ms: 10_000 }),
            ..RestartPolicy::default()
        },
        ready: (name != "c")
            .then(|| ReadySpec { check: Check::Tcp("x:1".to_owned()), timeout_ms: 1_000 }),
        depends_on: match name {
            "d" => vec!["b".to_owned(), PART.to_owned()],
            _ => Vec::new(),
        },
        limits: Limits { grace_ms: 500, ..Limits::default() },
        // Two units share a pool with runs outside any unit.
        pool: matches!(name, "a" | "c").then(|| POOL.to_owned()),
        idle: matches!(name, "b" | "c")
            .then_some(IdleSpec { after_ms: 500, suspend: Suspend::Stop }),
        part: (name == PART).then_some(Part::Daemon),
        ..unit_spec(name)
    };
    let digest = format!("{name}{version}");
    Declared { spec, run_digest: digest.clone(), digest }
}
