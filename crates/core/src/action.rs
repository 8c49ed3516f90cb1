use ostler_model::{Actor, Condition, Counter, Entry, PoolSpec, RunId, RunRecord, UnitRecord};

/// What is to be done. The first seven are durable and are committed before any other is begun.
#[derive(Clone, Debug)]
pub enum Action {
    Save(Box<RunRecord>),
    Note(Entry),
    Count(Counter, u64),
    SaveUnit(Box<UnitRecord>),
    RemoveUnit(String),
    SavePool(Box<PoolSpec>),
    RemovePool(String),

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
    /// End a unit's run.
    EndRun {
        run: RunId,
        by: Actor,
        why: &'static str,
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
