use ostler_model::{Actor, Condition, Counter, Entry, PoolSpec, RunId, RunRecord, UnitRecord};

/// What follows from an event. The writes are committed before the first effect is carried out.
#[derive(Debug, Default)]
pub struct Step {
    pub writes: Vec<Write>,
    pub effects: Vec<Effect>,
    /// Runs that units want ended. `World::step` empties this list before it returns.
    pub(crate) ends: Vec<EndRun>,
}

impl Step {
    pub(crate) fn write(&mut self, write: Write) {
        self.writes.push(write);
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub(crate) fn end_run(&mut self, end: EndRun) {
        self.ends.push(end);
    }
}

/// A change of the registry.
#[derive(Clone, Debug)]
pub enum Write {
    Save(Box<RunRecord>),
    Note(Entry),
    Count(Counter, u64),
    SaveUnit(Box<UnitRecord>),
    RemoveUnit(String),
    SavePool(Box<PoolSpec>),
    RemovePool(String),
}

/// A unit's run is to end.
#[derive(Clone, Debug)]
pub(crate) struct EndRun {
    pub(crate) run: RunId,
    pub(crate) by: Actor,
    pub(crate) why: &'static str,
}

/// Something to do outside the core. What comes of it returns as an event.
#[derive(Clone, Debug)]
pub enum Effect {
    Spawn(RunId),
    /// Take up a live run that an earlier supervisor started.
    Adopt(Box<RunRecord>),
    /// To everything in the run's scope.
    Signal {
        run: RunId,
        signal: Signal,
    },
    /// From now on, tell who is alive in the scope whenever that changes (`Surveyed`).
    Watch(RunId),
    /// Let what lives outside the boundary go on as a run of its own.
    LetGo(RunId),
    /// The run is over: close what it held, and answer those who wait for it.
    Finish(Box<RunRecord>),
    /// The run is another's now: let go of it without touching it.
    Abandon(RunId),
    /// The caller may be told: it waits for a place in its pool, and the record says so durably.
    Queued(RunId),
    /// Look at the machine's memory (`MemoryLookedAt`).
    LookAtMemory,
    /// The caller may be told: it runs, and the record says so durably.
    Started(RunId),
    Refuse {
        run: RunId,
        refusal: Refusal,
    },
    /// Spawn a run for this unit (`SpawnAsked`), or say that it cannot be tried (`NotLaunched`).
    Launch(String),
    /// Somebody is told of it.
    CallHook {
        unit: String,
        condition: Condition,
        why: String,
    },
    /// A unit's run ended as it should not have: `crash.log` keeps it.
    Crashed {
        unit: String,
        run: Box<RunRecord>,
        ran_ms: u64,
        description: String,
    },
    /// Look whether the unit's agent has anything to do (`UnitEvent::Idle`).
    LookIdle {
        unit: String,
        run: RunId,
    },
    CheckReady {
        unit: String,
        run: RunId,
    },
    CheckHealth {
        unit: String,
        run: RunId,
    },
    RenewLease,
    Steal {
        record: Box<RunRecord>,
        seen: crate::Observation,
    },
    /// Nothing is left to look after, and we were asked to stop.
    Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Term,
    Kill,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    ShuttingDown,
}
