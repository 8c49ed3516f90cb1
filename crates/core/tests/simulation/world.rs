//! One machine, one registry, two supervisors, and the invariants.

mod agents;
mod asking;
mod effects;
mod ownership;
mod pools;
mod processes;
mod random_input;
mod registry;
mod rest;
mod turns;

use crate::kernel::Tree;
use crate::units;
use ostler_core::{Claim, Event, Now, World};
use ostler_model::{InstanceId, PoolSpec, RunId, RunRecord, UnitRecord};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const LEASE_MS: u64 = 3_000;
const INSTANCES: usize = 2;

pub struct Simulation {
    now: Now,
    description: bool,
    /// No more failures are injected.
    is_calm: bool,
    /// A guardian keeps what a supervisor leaves behind, for its own successor.
    guardian_info: bool,
    next: u64,
    trees: BTreeMap<RunId, Tree>,
    // The registry: survives a crash.
    records: BTreeMap<RunId, RunRecord>,
    claims: BTreeMap<InstanceId, Claim>,
    exits: BTreeMap<RunId, u32>,
    units: BTreeMap<(InstanceId, String), UnitRecord>,
    pools: BTreeMap<InstanceId, PoolSpec>,
    /// The highest limit that each instance's pool ever had.
    most: BTreeMap<InstanceId, u32>,
    born: BTreeMap<RunId, InstanceId>,
    /// The question of a unit's agent that the operator was notified of, by run.
    asked: BTreeMap<RunId, String>,
    /// Taken over at least once: what one home's guardian holds is of no use to another home.
    stolen: BTreeSet<RunId>,
    supervisors: [Option<Supervisor>; INSTANCES],
}

struct Supervisor {
    instance: InstanceId,
    world: World,
    events: VecDeque<Event>,
    /// Runs whose kernel events arrive at this supervisor.
    held: BTreeSet<RunId>,
    watched: BTreeSet<RunId>,
    adopted: BTreeSet<RunId>,
}

/// Where in a turn a supervisor is killed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Crash {
    Never,
    BeforeCommit,
    AfterCommit,
    /// After this many effects.
    AfterEffects(u64),
}

fn instance(index: usize) -> InstanceId {
    InstanceId::new(1, [index as u8 + 1; 10])
}

impl Simulation {
    pub fn new(description: bool, guardian_info: bool) -> Self {
        Self {
            now: Now { mono_ms: 1_000, wall_ms: 1_700_000_000_000 },
            description,
            is_calm: false,
            guardian_info,
            next: 0,
            trees: BTreeMap::new(),
            records: BTreeMap::new(),
            claims: BTreeMap::new(),
            exits: BTreeMap::new(),
            units: BTreeMap::new(),
            pools: (0..INSTANCES).map(|index| (instance(index), units::pool(1))).collect(),
            most: (0..INSTANCES).map(|index| (instance(index), 1)).collect(),
            born: BTreeMap::new(),
            asked: BTreeMap::new(),
            stolen: BTreeSet::new(),
            supervisors: [None, None],
        }
    }

    #[expect(clippy::print_stdout, reason = "a replayed history is read by a person")]
    fn notify(&self, what: impl FnOnce() -> String) {
        if self.description {
            println!("{:>8} {}", self.now.mono_ms, what());
        }
    }

    fn pass(&mut self, ms: u64) {
        self.now.mono_ms += ms;
        self.now.wall_ms += ms;
    }
}
