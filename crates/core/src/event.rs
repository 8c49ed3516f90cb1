use ostler_model::{
    Actor, Detach, Enforced, Extinct, Fingerprint, Limits, PoolSpec, RunId, RunRecord,
    SpawnErrorKind, UnitRecord,
};

/// Something that happened: a command, a word of the kernel, or the outcome of an action.
#[derive(Clone, Debug)]
pub enum Event {
    /// A caller wants a run.
    SpawnAsked(Box<NewRun>),
    /// A run that waited for a place in its pool when the supervisor before us ended, and whose spec was kept for us.
    Requeued(Box<NewRun>),
    /// The intent could not be made durable; nothing was executed.
    IntentLost {
        run: RunId,
    },
    Spawned {
        run: RunId,
        identity: Identity,
    },
    SpawnFailed {
        run: RunId,
        kind: SpawnErrorKind,
        error: String,
    },
    CancelAsked {
        run: RunId,
        by: Actor,
        why: &'static str,
        /// The caller's own reason.
        said: Option<String>,
    },
    /// The process that showed it in the foreground has ended, and had not left it.
    ClientGone {
        run: RunId,
    },
    /// The process that shows it in the foreground leaves it running.
    ClientLeft {
        run: RunId,
        by: Actor,
    },
    /// One of the run's deadlines has come. `tree` is looked at anew where the run is ending.
    Due {
        run: RunId,
        last_output_mono_ms: Option<u64>,
        tree: Option<Survey>,
    },
    RootExited {
        run: RunId,
        status: ExitStatus,
        tree: Survey,
    },
    OutputEnded {
        run: RunId,
    },
    Surveyed {
        run: RunId,
        tree: Survey,
    },
    /// KILL was delivered, and how.
    Killed {
        run: RunId,
        mode: &'static str,
        processes: usize,
    },
    /// A detached descendant was given its own handle.
    DetachDone {
        run: RunId,
        child: Box<RunRecord>,
    },
    ShutdownAsked {
        by: Actor,
    },
    /// Units that the registry knows, before the runs are looked at.
    UnitsKnown {
        records: Vec<UnitRecord>,
        pools: Vec<PoolSpec>,
        boot_id: String,
    },
    /// All runs have been looked at. Units that are wanted begin now, or rest until somebody starts the daemon.
    Reconciled {
        begin: bool,
    },
    /// The daemon is started by somebody: units that rested begin.
    UnitsWoken,
    /// The pools of this file, all of them.
    PoolsDeclared {
        pools: Vec<PoolSpec>,
        file: String,
    },
    /// What was seen of the machine's memory, as `LookAtMemory` asked for.
    MemoryLookedAt(crate::pool::MachineMemory),
    UnitsDeclared {
        declared: Vec<crate::unit::Declared>,
        gone: Vec<String>,
        /// Start also those that were stopped.
        start: bool,
        by: Actor,
    },
    UnitsAsked {
        names: Vec<String>,
        ask: crate::unit::Ask,
        by: Actor,
    },
    Unit {
        name: String,
        event: crate::unit::UnitEvent,
    },
    UnitsDue,
    /// Something is known of the agent on a run's terminal.
    Agent {
        run: RunId,
        event: crate::agent::AgentEvent,
    },
    /// A unit's run could not even be asked for.
    NotLaunched {
        unit: String,
    },
    LeaseDue,
    /// The lease was renewed (or at least read back); these runs are no longer ours.
    LeaseRenewed {
        lost: Vec<RunId>,
    },
    /// Reconcile looked at a record that is not exited.
    Observed {
        record: Box<RunRecord>,
        seen: Observation,
    },
    StealWon {
        record: Box<RunRecord>,
        seen: Observation,
    },
}

/// A run that is asked for.
#[derive(Clone, Debug)]
pub struct NewRun {
    pub by: Actor,
    /// In state `starting`, without a pid.
    pub record: RunRecord,
    pub limits: Limits,
    pub detach: Detach,
}

/// What the kernel said of a process we started.
#[derive(Clone, Debug)]
pub struct Identity {
    pub fingerprint: Fingerprint,
    pub process_group_id: i32,
    pub cgroup: Option<String>,
    /// The process that takes in its orphans, where it has no cgroup.
    pub reaper: Option<Box<Fingerprint>>,
    pub enforced: Option<Box<Enforced>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    Code(i32),
    Signal(i32),
    /// It ended where we were not its parent and the kernel does not tell.
    Unknown,
}

/// Who is alive in a run's scope at this moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// In the root's own process group, the root included.
    pub inside: usize,
    /// Ours, but in another group or session.
    pub outside: usize,
    /// Some of those outside, by name, for the journal.
    pub named: Vec<Member>,
    /// Somebody may be left whom nothing ties to this run: then "gone" is not a fact.
    pub is_unexplained: bool,
    /// Those whom the kernel does not let us signal.
    pub refusing: Vec<Refusing>,
    /// Of one that has a limit on memory.
    pub memory: Option<MemorySeen>,
}

impl Survey {
    pub fn is_empty(&self) -> bool {
        self.inside == 0 && self.outside == 0
    }

    /// What an empty tree proves.
    pub fn extinct(&self) -> Extinct {
        if self.is_unexplained { Extinct::Unknown } else { Extinct::Yes }
    }
}

/// A process of a run that has become another user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusing {
    pub pid: i32,
    pub user: Option<u32>,
    /// For people. No decision reads it.
    pub command: String,
}

impl Refusing {
    /// What is wrong, and what helps.
    pub(crate) fn description(&self) -> String {
        let Self { pid, user, command } = self;
        let user = user.map_or_else(String::new, |user| format!(" runs as user {user} and"));
        format!(
            "pid {pid} ({command}){user} cannot be signalled (EPERM: operation not permitted); end it as that user, \
             for example with `sudo kill {pid}`"
        )
    }
}

/// How a run stands with its limit on memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemorySeen {
    /// How many of its processes the kernel has killed for it, ever.
    pub kills: u64,
    pub peak_bytes: Option<u64>,
    /// What our own look found, if that was more than it may have.
    pub excess_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub pid: i32,
    pub group: i32,
    pub session: i32,
    /// For people. No decision reads it.
    pub command: String,
}

/// What reconcile saw of a recorded run.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The recorded identity is alive: the process that was started, no other.
    pub identity: Option<Identity>,
    /// What became of it, where it is not.
    pub gone: Gone,
    pub tree: Survey,
    pub ownership: crate::Ownership,
    /// How the recorded process ended, where it did.
    pub status: ExitStatus,
    pub hearing: Hearing,
}

/// What became of a recorded run that is not alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    NotLookedAt,
    MachineRestarted,
    /// The process that was recorded.
    Process,
    /// It was started and had ended before its process was recorded.
    BeforeItsProcess,
    /// Its supervisor ended when it was just being started, or took with it whoever could tell.
    PerhapsStarted,
    /// Its supervisor ended between its record and its start, or while it waited for its place.
    NeverStarted,
}

impl Gone {
    pub fn why(self) -> &'static str {
        match self {
            Gone::NotLookedAt => "not looked at",
            Gone::MachineRestarted => "the machine was started anew since",
            Gone::Process => "the recorded process is gone, or its pid is another's now",
            Gone::BeforeItsProcess => "it was recorded, and ended before its process was",
            Gone::PerhapsStarted => {
                "it was recorded, and its supervisor ended before its process was"
            }
            Gone::NeverStarted => "its supervisor ended before it had started it",
        }
    }

    /// For whoever waits for its end, if how it ended is not known.
    pub(crate) fn description(self) -> String {
        match self {
            Gone::NeverStarted => format!("{}; run it again", self.why()),
            Gone::PerhapsStarted => format!("{}; whether it ran is not known", self.why()),
            Gone::NotLookedAt | Gone::MachineRestarted | Gone::Process | Gone::BeforeItsProcess => {
                format!("{}; how it ended is not known", self.why())
            }
        }
    }
}

/// What became of a run's output and input when its supervisor died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hearing {
    /// Somebody held them for us: nothing of it is lost.
    Kept,
    Lost,
}
