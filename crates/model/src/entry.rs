use crate::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// One line of the journal: who did what to which run, why, and on what evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Given by the registry when committed; 0 before.
    pub seq: i64,
    pub at_ms: u64,
    pub who: Actor,
    pub what: What,
    pub run_id: Option<RunId>,
    pub why: String,
    pub evidence: Map<String, Value>,
}

/// Who did it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Actor {
    /// A person or program at the door. One that came over HTTP has no pid that we would know: it is 0.
    Caller {
        uid: u32,
        pid: i32,
    },
    Supervisor,
    Kernel,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Actor::Caller { uid, pid: 0 } => write!(f, "uid {uid} (over HTTP)"),
            Actor::Caller { uid, pid } => write!(f, "uid {uid} (pid {pid})"),
            Actor::Supervisor => f.write_str("supervisor"),
            Actor::Kernel => f.write_str("kernel"),
        }
    }
}

macro_rules! whats {
    ($($variant:ident => $word:literal : $description:literal),+ $(,)?) => {
        /// What happened. A closed list, so that `why` can tell every one of them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum What { $($variant),+ }

        impl What {
            pub const ALL: &'static [What] = &[$(What::$variant),+];

            pub fn as_str(self) -> &'static str {
                match self { $(What::$variant => $word),+ }
            }

            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(What::$variant),)+ _ => None }
            }

            /// The same as the beginning of a sentence.
            pub fn description(self) -> &'static str {
                match self { $(What::$variant => $description),+ }
            }
        }
    };
}

whats! {
    Intent => "intent": "was asked for",
    Queued => "queued": "waits for a place in its pool",
    Admitted => "admitted": "got a place in its pool",
    Spawned => "spawned": "was started",
    SpawnFailed => "spawn-failed": "could not be started",
    Refused => "refused": "was refused",
    CancelAsked => "cancel-asked": "was told to end",
    Degraded => "degraded": "does without something it wants",
    Limited => "limited": "is kept to limits",
    TimedOut => "timed-out": "ran out of time",
    OutOfMemory => "out-of-memory": "ran out of memory",
    TermSent => "term-sent": "was sent its stop signal",
    KillSent => "kill-sent": "was sent KILL",
    RootExited => "root-exited": "had its first process exit",
    Lingering => "lingering": "left processes behind",
    Escaped => "escaped": "had descendants outside its boundary",
    ClientLeft => "client-left": "was left by the process that showed it",
    Detached => "detached": "was let go by the run that started it",
    OutputLost => "output-lost": "lost output",
    OutputDropped => "output-dropped": "had its output removed",
    OutputHeld => "output-held": "had its output held open by another process",
    Output => "output": "wrote output",
    Exited => "exited": "ended",
    NotExtinct => "not-extinct": "could not be ended completely",
    Adopted => "adopted": "was taken up again",
    ReconciledStale => "reconciled-stale": "was found gone",
    LeftAlone => "left-alone": "was left to its owner",
    LeaseStolen => "lease-stolen": "was taken over from a silent owner",
    LeaseLost => "lease-lost": "was taken over by another supervisor",
    Replaced => "replaced": "was replaced by a newer run of its scope",
    UnitDeclared => "unit-declared": "was declared",
    UnitWithdrawn => "unit-withdrawn": "is no longer declared",
    UnitStartAsked => "unit-start-asked": "was asked to start",
    UnitStopAsked => "unit-stop-asked": "was asked to stop",
    UnitRestartAsked => "unit-restart-asked": "was asked to restart",
    UnitReady => "unit-ready": "is ready",
    UnitNotReady => "unit-not-ready": "was not ready in time",
    CheckFailed => "check-failed": "failed a check",
    CheckPassed => "check-passed": "passed its check again",
    UnitUnhealthy => "unit-unhealthy": "is not healthy",
    UnitAgain => "unit-again": "will be started again",
    UnitOver => "unit-over": "came to its end",
    UnitRecovered => "unit-recovered": "is well again",
    AppRegistered => "app-registered": "registered",
    AppRefused => "app-refused": "was refused",
    AppMisbehaved => "app-misbehaved": "broke the rules of the app socket",
    AppLeaving => "app-leaving": "said that it is going to end",
    AppToldToEnd => "app-told-to-end": "was told to end over its socket",
    UnitSkipped => "unit-skipped": "was not begun at its time",
    PatrolLooked => "patrol-looked": "was looked at by the patrol",
    PatrolDecided => "patrol-decided": "was judged by the patrol",
    PatrolActed => "patrol-acted": "was acted on by the patrol",
    TriageAsked => "triage-asked": "was brought before triage",
    Escalated => "escalated": "was brought before a person",
    EscalationOver => "escalation-over": "needs no person any more",
    MassDeath => "mass-death": "many sessions died at once",
    LifecycleAsked => "lifecycle-asked": "asked for a change of its life",
    Nudged => "nudged": "was spoken to",
    HandedOff => "handed-off": "left word for its successor",
    AgentWaiting => "agent-waiting": "waits for a person",
    AgentLimited => "agent-limited": "is limited by its provider",
    AgentAnswered => "agent-answered": "was answered",
    AgentGoesOn => "agent-goes-on": "waits no longer",
    SessionLearned => "session-learned": "has a session of its agent",
    SessionForgotten => "session-forgotten": "has no session of its agent any more",
    Resumed => "resumed": "is started with its resume command",
    UnitSuspended => "unit-suspended": "was put to sleep",
    UnitWoken => "unit-woken": "was woken",
    BreakerOpened => "breaker-opened": "failed too often",
    SupervisorStarted => "supervisor-started": "supervisor started",
    SupervisorStopping => "supervisor-stopping": "supervisor began to stop",
    SupervisorStopped => "supervisor-stopped": "supervisor stopped",
    HandedOver => "handed-over": "supervisor made room for a successor",
    Rollback => "went-back": "the old program took its place again",
    SocketLost => "socket-lost": "lost a socket",
    HomeLost => "home-lost": "lost its home",
    GuardianLost => "guardian-lost": "guardian died",
    GuardianStarted => "guardian-started": "a new guardian was started",
    StrayKilled => "stray-killed": "stray process was killed",
    StrayFound => "stray-found": "a process of ours belongs to no live run",
    ReaperLost => "reaper-lost": "lost the process that takes in its orphans",
    RegistryFailed => "registry-failed": "the registry could not be written",
    RegistryRecovered => "registry-recovered": "the registry can be written again",
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back_and_is_the_json_word() {
        for what in What::ALL {
            assert_eq!(What::parse(what.as_str()), Some(*what));
            assert_eq!(serde_json::to_value(what).expect("encodes"), what.as_str());
        }
    }
}
