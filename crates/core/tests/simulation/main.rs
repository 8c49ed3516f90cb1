//! Random histories against the core: spawns, exits, output, cancels, timeouts, lease expiries, supervisor crashes at
//! any instant, and clock jumps, with two supervisors on one registry.
//!
//! A seed defines a history. A failing one prints its seed; `OSTLER_SEED=n cargo test -p ostler-core --test
//! simulation` replays it and prints its steps. `OSTLER_HISTORIES` sets the number of histories.

mod kernel;
mod random;
#[path = "../common/unit_spec.rs"]
mod unit_spec;
mod units;
mod world;

use random::Random;
use world::Simulation;

fn run(seed: u64, description: bool) -> Result<(), String> {
    let mut random = Random::new(seed);
    let mut simulation = Simulation::new(description, seed.is_multiple_of(2));
    let steps = 10 + random.below(50);
    for _ in 0..steps {
        simulation.something_happens(&mut random)?;
    }
    simulation.comes_to_rest(&mut random)
}

/// R1, R6, R7, R14, R15, R16: one termination reason, no signal after `exited`, no signal to an unverified identity
/// or to another supervisor's run, every intent settled after reconcile, no process without an owner.
#[test]
fn no_history_breaks_an_invariant() {
    if let Ok(seed) = std::env::var("OSTLER_SEED") {
        let seed = seed.parse().expect("OSTLER_SEED is a number");
        if let Err(broken) = run(seed, true) {
            panic!("seed {seed}: {broken}");
        }
        return;
    }
    let histories: u64 = std::env::var("OSTLER_HISTORIES")
        .map_or(100_000, |text| text.parse().expect("OSTLER_HISTORIES is a number"));
    let threads = 2;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for seed in (thread..histories).step_by(threads as usize) {
                    if let Err(broken) = run(seed, false) {
                        panic!("seed {seed}: {broken}\nreplay: OSTLER_SEED={seed} cargo test -p ostler-core --test simulation");
                    }
                }
            });
        }
    });
}
