//! The types of Ostler: ids, specs, records, reasons, journal entries, and views. No I/O and no decisions.

mod agent;
mod agent_view;
mod app;
pub mod app_wire;
mod change;
mod container;
mod enforced;
mod entry;
mod hooks;
mod id;
mod mail;
mod metrics;
mod name_pattern;
mod patrol;
mod pool;
mod purpose;
mod record;
mod restart;
mod screen;
mod session;
mod settings;
mod spec;
mod stable;
mod text;
mod tmux;
mod unit;
mod usage;

pub use agent::AgentState;
pub use agent_view::{AgentJudged, AgentKnown, AgentNotified, AgentReport, AgentSource, AgentView};
pub use app::{AppPhase, AppSpec, AppStatus, AppUsage, HeartbeatSpec};
pub use change::{Change, ChangeKind};
pub use container::{
    CHECK_UNKNOWN, ContainerEnd, ContainerEndKind, ContainerMade, ContainerOrder, ContainerSpec,
    Listed,
};
pub use enforced::{Enforced, LimitMethod};
pub use entry::{Actor, Entry, What};
pub use hooks::{Condition, DeadmanSpec, HookSpec, HookTarget};
pub use id::{BadId, InstanceId, RunId, letter_id};
pub use mail::{Mail, MailDraft, MailKind, Nudge, NudgeDraft, Priority, Receipt, Waiting};
pub use metrics::{Counter, Sample};
pub use name_pattern::NamePattern;
pub use patrol::{
    Acted, AgentSeen, CpuMark, DecidedBy, Decision, Declared, DeclaredState, Edge, Freshness,
    HeartbeatSeen, Observation, Order, PatrolMemory, PatrolNote, PatrolOrders, PatrolPolicy,
    PatrolSave, PatrolSpec, PatrolState, PendingSeen, PendingSpawn, Rung, SessionHealth,
    SessionSeen, Step, StepOutcome, TriageAnswer, TriageSpec, Trouble, TroubleKind, WatchReport,
    WatchSpec, WatchState,
};
pub use pool::{PoolSpec, PoolView};
pub use purpose::Purpose;
pub use record::{
    Backend, Escapee, Extinct, Fingerprint, RunRecord, RunResult, RunState, SpawnErrorKind,
    Termination, TimeoutKind,
};
pub use restart::{Backoff, Preset, RestartLimit, RestartPolicy, When};
pub use screen::{ScreenCursor, ScreenSpot, ScreenText};
pub use session::{AgentIdle, AgentSession};
pub use settings::{AdoptPolicy, Settings};
pub use spec::{Detach, Limits, Resources, RunSpec, TerminalSize};
pub use stable::{StableHasher, stable_digest, stable_hash};
pub use text::OsText;
pub use tmux::{PaneRecord, TmuxEnd, TmuxEndKind, TmuxOrder, TmuxOwner, TmuxSpec};
pub use unit::{
    BreakerOpen, Check, Desired, HealthSpec, IdleSpec, Missed, Over, Overlap, Part, ProbeState,
    ReadySpec, ScheduleSpec, StopSpec, Suspend, Suspended, Tally, UnitEnd, UnitRecord, UnitSpec,
    UnitState, UnitView,
};
pub use usage::{Depth, ProcessUsage, UnitLook, Usage, UsagePoint};
