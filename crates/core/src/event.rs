use ostler_model::{
    Actor, Detach, Enforced, Escapee, Extinct, Fingerprint, Limits, PoolSpec, RunId, RunRecord,
    SpawnErrorKind, UnitRecord,
};

/// Input of the core: a command, a fact from the kernel, or the outcome of an action.
#[derive(Clone, Debug)]
pub enum Event {
    /// A caller wants a run.
    SpawnRequested(Box<NewRun>),
    /// The previous supervisor ended while this run waited for a slot in its pool. Its spec was kept.
    Requeued(Box<NewRun>),
    /// The intent could not be made durable. Nothing was executed.
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
    CancelRequested {
        run: RunId,
        by: Actor,
        why: &'static str,
        /// The caller's own reason.
        said: Option<String>,
    },
    /// Follows a cancel that is to end the run without its grace period.
    KillRequested {
        run: RunId,
        by: Actor,
    },
    /// The foreground client of the run ended without detaching.
    ClientGone {
        run: RunId,
    },
    /// The foreground client detached: the run continues.
    ClientLeft {
        run: RunId,
        by: Actor,
    },
    /// One of the run's deadlines has passed. `tree` is a new survey if the run is ending.
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
    /// KILL was delivered, and by which mechanism.
    Killed {
        run: RunId,
        mode: &'static str,
        processes: usize,
    },
    /// A detached descendant now has a handle of its own.
    DetachDone {
        run: RunId,
        child: Box<RunRecord>,
    },
    ShutdownRequested {
        by: Actor,
    },
    /// The units in the registry. Comes before the runs are reconciled.
    UnitsKnown {
        records: Vec<UnitRecord>,
        pools: Vec<PoolSpec>,
        boot_id: String,
    },
    /// All runs are reconciled. Wanted units start now, or stay stopped until the daemon is started.
    Reconciled {
        begin: bool,
    },
    /// A person started the daemon: units that stopped with it start again.
    UnitsWoken,
    /// All pools of this file.
    PoolsDeclared {
        pools: Vec<PoolSpec>,
        file: String,
    },
    /// The sample that `LookAtMemory` requested.
    MemoryLookedAt(crate::pool::MachineMemory),
    UnitsDeclared {
        declared: Vec<crate::unit::Declared>,
        gone: Vec<String>,
        /// Also start the stopped ones.
        start: bool,
        by: Actor,
    },
    UnitsRequested {
        names: Vec<String>,
        ask: crate::unit::Ask,
        by: Actor,
    },
    Unit {
        name: String,
        event: crate::unit::UnitEvent,
    },
    UnitsDue,
    /// News about the agent on a run's terminal.
    Agent {
        run: RunId,
        event: crate::agent::AgentEvent,
    },
    /// A unit's run could not even be requested.
    NotLaunched {
        unit: String,
    },
    LeaseDue,
    /// The lease was renewed (or at least read back). The runs in `lost` are no longer ours.
    LeaseRenewed {
        lost: Vec<RunId>,
    },
    /// Reconcile has compared a record that is not exited with the kernel.
    Observed {
        record: Box<RunRecord>,
        seen: Observation,
    },
    StealWon {
        record: Box<RunRecord>,
        seen: Observation,
    },
}

/// A requested run.
#[derive(Clone, Debug)]
pub struct NewRun {
    pub by: Actor,
    /// In state `starting`, without a pid.
    pub record: RunRecord,
    pub limits: Limits,
    pub detach: Detach,
}

/// Facts from the kernel about a process that we started.
#[derive(Clone, Debug)]
pub struct Identity {
    pub fingerprint: Fingerprint,
    pub process_group_id: i32,
    pub cgroup: Option<String>,
    /// Subreaper above the run, if it has no cgroup.
    pub reaper: Option<Box<Fingerprint>>,
    pub enforced: Option<Box<Enforced>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    Code(i32),
    Signal(i32),
    /// We were not its parent when it ended, and the kernel does not report the status.
    Unknown,
}

/// The live processes in a run's scope at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// In the root's own process group, the root included.
    pub inside: usize,
    /// Ours, but in another group or session.
    pub outside: usize,
    /// Some of the processes outside, by name, for the journal.
    pub named: Vec<Member>,
    /// A process may be left that cannot be attributed to this run, so an empty tree proves nothing.
    pub is_unexplained: bool,
    /// Processes that may be left of this run, although nothing proves it. They are named and never signalled.
    pub suspects: Vec<Escapee>,
    /// Processes that the kernel does not let us signal.
    pub refusing: Vec<Refusing>,
    /// Only for a run with a memory limit.
    pub memory: Option<MemorySeen>,
}

impl Survey {
    pub fn is_empty(&self) -> bool {
        self.inside == 0 && self.outside == 0
    }

    /// What an empty tree proves about extinction.
    pub(crate) fn extinct(&self) -> Extinct {
        if self.is_unexplained { Extinct::Unknown } else { Extinct::Yes }
    }
}

/// A process of the run that now runs as another user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusing {
    pub pid: i32,
    pub user: Option<u32>,
    /// For people only; decisions do not read it.
    pub command: String,
}

impl Refusing {
    /// What is wrong, and the command that helps.
    pub(crate) fn description(&self) -> String {
        let Self { pid, user, command } = self;
        let user = user.map_or_else(String::new, |user| format!(" runs as user {user} and"));
        format!(
            "pid {pid} ({command}){user} cannot be signalled (EPERM: operation not permitted); end it as that user, \
             for example with `sudo kill {pid}`"
        )
    }
}

/// The run's state against its memory limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemorySeen {
    /// How many of its processes the kernel has killed for exceeding the limit, in total.
    pub kills: u64,
    pub peak_bytes: Option<u64>,
    /// Memory above the limit, as found by our own sample.
    pub excess_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub pid: i32,
    pub group: i32,
    pub session: i32,
    /// For people only; decisions do not read it.
    pub command: String,
}

/// What reconcile found out about a recorded run.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The recorded process is alive and is the one that was started.
    pub identity: Option<Identity>,
    /// Why the recorded process is not alive.
    pub gone: Gone,
    pub tree: Survey,
    pub ownership: crate::Ownership,
    /// How the recorded process ended, if it did.
    pub status: ExitStatus,
    pub streams: Streams,
}

/// Why a recorded run is not alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    NotLookedAt,
    MachineRestarted,
    /// The recorded process is gone.
    Process,
    /// The process started and ended before it was recorded.
    BeforeItsProcess,
    /// The supervisor ended during the spawn, so whether the process started is unknown.
    PerhapsStarted,
    /// The supervisor ended between the record and the spawn, or while the run waited for a slot in its pool.
    NeverStarted,
}

impl Gone {
    pub fn why(self) -> &'static str {
        match self {
            Gone::NotLookedAt => "not looked at",
            Gone::MachineRestarted => "the machine has rebooted since",
            Gone::Process => {
                "the recorded process is gone, or its pid belongs to another process now"
            }
            Gone::BeforeItsProcess => "it ended before the process was recorded",
            Gone::PerhapsStarted => "the supervisor ended before the process was recorded",
            Gone::NeverStarted => "the supervisor ended before it started the run",
        }
    }

    /// Error text for clients that wait for the end, if the exit status is unknown.
    pub(crate) fn description(self) -> String {
        match self {
            Gone::NeverStarted => format!("{}; run it again", self.why()),
            Gone::PerhapsStarted => format!("{}; whether it ran is unknown", self.why()),
            Gone::NotLookedAt | Gone::MachineRestarted | Gone::Process | Gone::BeforeItsProcess => {
                format!("{}; how it ended is unknown", self.why())
            }
        }
    }
}

/// What became of a run's input and output when its supervisor died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// The guardian held their descriptors, so no byte is lost.
    Kept,
    Lost,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_is_gone_says_why_and_what_is_known_of_its_end() {
        for (gone, why, end) in [
            (Gone::NotLookedAt, "not looked at", "how it ended is unknown"),
            (Gone::MachineRestarted, "rebooted", "how it ended is unknown"),
            (Gone::Process, "process is gone", "how it ended is unknown"),
            (Gone::BeforeItsProcess, "ended before", "how it ended is unknown"),
            (Gone::PerhapsStarted, "before the process was recorded", "whether it ran is unknown"),
            (Gone::NeverStarted, "before it started the run", "run it again"),
        ] {
            assert!(gone.why().contains(why), "{gone:?}: {}", gone.why());
            assert_eq!(gone.description(), format!("{}; {end}", gone.why()));
        }
    }

    #[test]
    fn a_process_of_another_user_is_named_with_the_command_that_ends_it() {
        let refusing = |user| Refusing { pid: 7, user, command: "sleep 9".to_owned() };
        let named = refusing(Some(33)).description();
        assert!(named.contains("pid 7 (sleep 9) runs as user 33"), "{named}");
        assert!(named.contains("EPERM") && named.contains("`sudo kill 7`"), "{named}");
        let unknown = refusing(None).description();
        assert!(!unknown.contains("runs as user"), "{unknown}");
    }
}
