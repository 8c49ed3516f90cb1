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
    /// Take over a live run that an earlier supervisor started.
    Adopt(Box<RunRecord>),
    /// Sends the signal to every process in the run's scope.
    Signal {
        run: RunId,
        signal: Signal,
    },
    /// From now on, report every change of the processes in the scope (`Surveyed`).
    Watch(RunId),
    /// Make the processes outside the boundary a run of their own.
    LetGo(RunId),
    /// The run is over: close its resources and answer the waiting clients.
    Finish(Box<RunRecord>),
    /// Another supervisor owns the run now: release it without touching its processes.
    Abandon(RunId),
    /// The record now says durably that the run waits for a slot in its pool: answer the caller.
    Queued(RunId),
    /// Sample the machine's memory (`MemoryLookedAt`).
    LookAtMemory,
    /// The record now says durably that the run is running: answer the caller.
    Started(RunId),
    Refuse {
        run: RunId,
        refusal: Refusal,
    },
    /// Spawn a run for this unit (`SpawnRequested`), or report that it cannot be tried (`NotLaunched`).
    Launch(String),
    /// Run the hooks for this condition.
    CallHook {
        unit: String,
        condition: Condition,
        why: String,
    },
    /// A unit's run failed: write it to `crash.log`.
    Crashed {
        unit: String,
        run: Box<RunRecord>,
        ran_ms: u64,
        description: String,
    },
    /// Check whether the unit's agent is idle (`UnitEvent::Idle`).
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
    /// A stop was requested and no run is left.
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
