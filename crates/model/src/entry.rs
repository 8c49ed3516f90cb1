use crate::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// One entry of the journal: who did what to which run, why, and with what evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Assigned by the registry on commit; 0 before.
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
    /// A person or program that sent a request. The pid of one that came over HTTP is unknown: it is 0.
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
        /// What happened. The list is closed, so that `why` can describe every entry.
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

            /// The beginning of a journal sentence: no subject, first letter lower-case.
            pub fn description(self) -> &'static str {
                match self { $(What::$variant => $description),+ }
            }
        }
    };
}

whats! {
    Intent => "intent": "requested",
    Queued => "queued": "waiting for a slot in its pool",
    Admitted => "admitted": "got a slot in its pool",
    Spawned => "spawned": "started",
    SpawnFailed => "spawn-failed": "could not start",
    Refused => "refused": "refused",
    CancelAsked => "cancel-asked": "cancel requested",
    Degraded => "degraded": "degraded",
    Limited => "limited": "limits applied",
    TimedOut => "timed-out": "timed out",
    OutOfMemory => "out-of-memory": "out of memory",
    TermSent => "term-sent": "sent the stop signal",
    KillSent => "kill-sent": "sent KILL",
    RootExited => "root-exited": "first process exited",
    Lingering => "lingering": "left processes behind",
    Escaped => "escaped": "processes escaped the boundary",
    ClientLeft => "client-left": "client detached",
    Detached => "detached": "detached from the run that started it",
    OutputLost => "output-lost": "output lost",
    OutputDropped => "output-dropped": "output removed",
    OutputHeld => "output-held": "output held open by another process",
    Output => "output": "wrote output",
    Exited => "exited": "ended",
    NotExtinct => "not-extinct": "not ended completely",
    Adopted => "adopted": "adopted",
    ReconciledStale => "reconciled-stale": "found gone",
    LeftAlone => "left-alone": "left to its owner",
    LeaseStolen => "lease-stolen": "taken over, its owner's lease expired",
    LeaseLost => "lease-lost": "taken over by another supervisor",
    Replaced => "replaced": "replaced by a newer run of its scope",
    UnitDeclared => "unit-declared": "declared",
    UnitWithdrawn => "unit-withdrawn": "no longer declared",
    UnitStartAsked => "unit-start-asked": "start requested",
    UnitStopAsked => "unit-stop-asked": "stop requested",
    UnitRestartAsked => "unit-restart-asked": "restart requested",
    UnitReady => "unit-ready": "ready",
    UnitNotReady => "unit-not-ready": "not ready in time",
    CheckFailed => "check-failed": "check failed",
    CheckPassed => "check-passed": "check passed again",
    UnitUnhealthy => "unit-unhealthy": "unhealthy",
    UnitAgain => "unit-again": "restarting",
    UnitOver => "unit-over": "not restarted",
    UnitRecovered => "unit-recovered": "recovered",
    AppRegistered => "app-registered": "registered",
    AppRefused => "app-refused": "app refused",
    AppMisbehaved => "app-misbehaved": "app broke the socket protocol",
    AppLeaving => "app-leaving": "app announced its exit",
    AppToldToEnd => "app-told-to-end": "exit requested over the app socket",
    UnitSkipped => "unit-skipped": "scheduled run skipped",
    PatrolLooked => "patrol-looked": "patrol observation",
    PatrolDecided => "patrol-decided": "patrol",
    PatrolActed => "patrol-acted": "patrol action",
    TriageAsked => "triage-asked": "triage",
    Escalated => "escalated": "escalated",
    EscalationOver => "escalation-over": "escalation over",
    MassDeath => "mass-death": "many sessions died at once",
    LifecycleAsked => "lifecycle-asked": "lifecycle change requested",
    Nudged => "nudged": "nudged",
    HandedOff => "handed-off": "handoff written",
    AgentWaiting => "agent-waiting": "waiting for a person",
    AgentLimited => "agent-limited": "limited by its provider",
    AgentAnswered => "agent-answered": "answered",
    AgentGoesOn => "agent-goes-on": "no longer waiting",
    SessionLearned => "session-learned": "agent session recorded",
    SessionForgotten => "session-forgotten": "agent session forgotten",
    Resumed => "resumed": "started with its resume command",
    UnitSuspended => "unit-suspended": "suspended",
    UnitWoken => "unit-woken": "woken",
    BreakerOpened => "breaker-opened": "breaker opened",
    SupervisorStarted => "supervisor-started": "supervisor started",
    SupervisorStopping => "supervisor-stopping": "supervisor stopping",
    SupervisorStopped => "supervisor-stopped": "supervisor stopped",
    HandedOver => "handed-over": "supervisor handed over to a successor",
    Rollback => "rollback": "rolled back to the old program",
    SocketLost => "socket-lost": "socket lost",
    HomeLost => "home-lost": "home lost",
    GuardianLost => "guardian-lost": "guardian died",
    GuardianStarted => "guardian-started": "new guardian started",
    StrayKilled => "stray-killed": "stray process killed",
    StrayFound => "stray-found": "stray process found",
    ReaperLost => "reaper-lost": "reaper lost",
    RegistryFailed => "registry-failed": "registry write failed",
    RegistryRecovered => "registry-recovered": "registry writable again",
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
    fn every_value_is_parsed_back_and_equals_its_json() {
        for what in What::ALL {
            assert_eq!(What::parse(what.as_str()), Some(*what));
            assert_eq!(serde_json::to_value(what).expect("encodes"), what.as_str());
        }
    }
}
