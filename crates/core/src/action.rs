use ostler_model::{Actor, Condition, Counter, Entry, PoolSpec, RunId, RunRecord, UnitRecord};

/// What the engine must do. The first seven are durable and are committed before any other begins.
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
    /// Spawn a run for this unit (`SpawnAsked`), or report that it cannot be tried (`NotLaunched`).
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
    /// End a unit's run.
    EndRun {
        run: RunId,
        by: Actor,
        why: &'static str,
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
