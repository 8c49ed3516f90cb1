//! Patrol: the watched agents, observations, decisions, and the remembered state.

use crate::{AgentState, RunId, Tally, What};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The `[patrol]` section, with every path and default resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatrolSpec {
    /// The root folder. The state files in Gas Town's format are below it.
    pub root: String,
    pub tick_ms: u64,
    pub policy: PatrolPolicy,
    pub triage: Option<TriageSpec>,
    pub agents: Vec<WatchSpec>,
    /// The operator's mailbox.
    pub overseer: String,
    /// A command that also gets each escalation, as JSON on its standard input.
    pub on_escalation: Option<Vec<String>>,
}

/// One watched agent. It is a unit of the same name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WatchSpec {
    pub name: String,
    /// `deacon`, `witness`, `refinery`, or any other role.
    pub role: String,
    pub rig: Option<String>,
    pub session: String,
    /// The file to which it writes its heartbeats, as an absolute path.
    pub heartbeat: Option<String>,
    pub stale_ms: u64,
    pub very_stale_ms: u64,
    /// A command that tells whether it has work: exit code 0 is yes, 1 is no, any other is unknown.
    pub work: Option<Vec<String>>,
    /// Program names. If none of them is in its process tree, the agent is dead although its session is alive.
    pub process: Vec<String>,
}

/// The numbers that the decisions use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatrolPolicy {
    /// A younger session gets no step.
    pub grace_ms: u64,
    /// How long a rung of the ladder has before the next one may follow. Shorter than a tick, so that the ladder
    /// climbs one rung per tick.
    pub nudge_wait_ms: u64,
    pub wake_wait_ms: u64,
    pub interrupt_wait_ms: u64,
    /// The time between two restarts of one agent by the patrol.
    pub restart_cooldown_ms: u64,
    /// The agent is working if its tree uses at least this much CPU above five times its lowest use seen.
    pub busy_cpu_percent: f64,
    /// Output or a screen change within this time is activity.
    pub progress_ms: u64,
    /// An agent whose screen shows work in progress is not woken or interrupted before it has shown nothing new for
    /// this long.
    #[serde(default = "thinking_ms")]
    pub thinking_ms: u64,
    /// After this many nudges that an agent took without doing its work, the operator is notified instead.
    #[serde(default = "nudges_most")]
    pub nudges_most: u32,
    /// When its usage limit is over, an agent is asked to continue.
    #[serde(default = "yes")]
    pub resume_after_limit: bool,
    /// Activity without a new heartbeat for this long, with pending work, is escalated.
    pub stalled_ms: u64,
    /// An agent without work is woken at most this often.
    pub idle_wake_ms: u64,
    /// After triage answered `nothing`, the ladder waits this long.
    pub hold_ms: u64,
    /// This many sessions dead within this time are one event.
    pub mass_death_count: u32,
    pub mass_death_window_ms: u64,
    /// A crash loop is forgotten after this time.
    pub crash_loop_decay_ms: u64,
}

const fn thinking_ms() -> u64 {
    30 * 60_000
}

const fn nudges_most() -> u32 {
    4
}

const fn yes() -> bool {
    true
}

impl Default for PatrolPolicy {
    fn default() -> Self {
        const MINUTE: u64 = 60_000;
        Self {
            grace_ms: 5 * MINUTE,
            nudge_wait_ms: 2 * MINUTE,
            wake_wait_ms: 2 * MINUTE,
            interrupt_wait_ms: 2 * MINUTE,
            restart_cooldown_ms: 5 * MINUTE,
            busy_cpu_percent: 1.0,
            progress_ms: 5 * MINUTE,
            thinking_ms: thinking_ms(),
            nudges_most: nudges_most(),
            resume_after_limit: true,
            stalled_ms: 120 * MINUTE,
            idle_wake_ms: 60 * MINUTE,
            hold_ms: 15 * MINUTE,
            mass_death_count: 3,
            mass_death_window_ms: 30_000,
            crash_loop_decay_ms: 60 * MINUTE,
        }
    }
}

/// A command that is asked what to do when a signal trips.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriageSpec {
    pub argv: Vec<String>,
    pub cwd: String,
    /// The name of its own session, which is never a watched one.
    pub session: String,
    pub timeout_ms: u64,
    pub cooldown_ms: u64,
    pub daily_budget: u32,
}

/// An observation of an agent at one moment. It is not stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Observation {
    pub agent: String,
    pub at_ms: u64,
    pub session: SessionSeen,
    /// The age of its session.
    pub age_ms: Option<u64>,
    pub heartbeat: HeartbeatSeen,
    pub pending: PendingSeen,
    /// It reported that it is busy until then.
    pub busy_until_ms: Option<u64>,
    pub declared: Option<Declared>,
    pub output_age_ms: Option<u64>,
    /// Time since it took a text that was typed into it, by any sender. Only a live program takes text.
    #[serde(default)]
    pub taken_age_ms: Option<u64>,
    /// A hash of the screen without spinners and clocks.
    pub screen: Option<u64>,
    /// The state of its screen by its profile. `None` for a program without a profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shows: Option<AgentSeen>,
    /// Its input line holds unsent text.
    #[serde(default)]
    pub is_begun: bool,
    /// Ctrl-C is known to interrupt it in its current state, and not to end it.
    #[serde(default)]
    pub can_interrupt: bool,
    /// Of the whole tree, since the last observation.
    pub cpu_percent: Option<f64>,
    pub processes: Option<u64>,
    /// The last lines of its screen.
    pub tail: String,
    /// Time since its run ended, if the records know it. The agent is dead then.
    #[serde(default)]
    pub dead_age_ms: Option<u64>,
    /// It ended to be restarted: a handoff or a lifecycle request. That is no failure.
    #[serde(default)]
    pub wants_again: bool,
    /// False if a person stopped it: it is not started.
    pub is_wanted: bool,
}

/// The state of an agent by its screen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSeen {
    pub profile: String,
    pub state: AgentState,
    /// The question on the screen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// When its limit ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state", content = "why")]
pub enum SessionSeen {
    /// The agent is in it, and alive.
    Alive,
    /// The session exists, but its agent is dead.
    AgentDead(String),
    Dead,
    /// It was suspended because it was idle; mail or a nudge wakes it.
    Asleep(String),
    /// Ostler did not create the session of that name: it is observed and gets text, but is never ended.
    Foreign,
    Unknown(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum HeartbeatSeen {
    /// No heartbeat is declared for it.
    None,
    Missing,
    Unreadable {
        why: String,
    },
    At {
        #[serde(rename = "ageMs")]
        age_ms: u64,
        cycle: u64,
        #[serde(rename = "lastAction")]
        last_action: String,
    },
}

/// Whether it has work. What the patrol itself sent does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum PendingSeen {
    Nothing,
    Work { mail: u32, nudges: u32, work: bool },
    Unknown { why: String },
}

impl PendingSeen {
    /// The number of pending items, as far as known.
    pub fn amount(&self) -> u32 {
        match self {
            PendingSeen::Work { mail, nudges, work } => {
                mail.saturating_add(*nudges).saturating_add(u32::from(*work))
            }
            PendingSeen::Nothing | PendingSeen::Unknown { .. } => 0,
        }
    }
}

/// The health of a session, from the observation and the remembered state.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SessionHealth {
    Healthy,
    SessionDead,
    AgentDead,
    AgentHung,
    Unknown,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Freshness {
    Fresh,
    Stale,
    VeryStale,
    Unknown,
}

/// A step for an agent, in the order of the ladder.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    Nothing,
    Start,
    Nudge,
    /// Escape, then the message.
    Wake,
    Interrupt,
    Restart,
    /// Notify the operator.
    Escalate,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    pub step: Step,
    pub health: SessionHealth,
    pub freshness: Freshness,
    pub reason: String,
    pub by: DecidedBy,
    /// What the operator is notified of, if this is an escalation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<TroubleKind>,
    /// The inputs that decided.
    pub evidence: Map<String, Value>,
}

/// The answer of triage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriageAnswer {
    pub step: Step,
    pub reason: String,
}

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state", content = "why")]
pub enum StepOutcome {
    Done,
    /// A text was typed, and the agent took it: it is alive.
    Taken,
    /// The step was no longer needed when it was due, for example because the agent came back to life.
    NotNeeded(String),
    /// No text could be typed: its input holds text, or it does not take text yet. That proves nothing about the
    /// agent.
    Blocked(String),
    Failed(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "why")]
pub enum DecidedBy {
    Mechanical,
    Triage,
    /// Triage should have decided, but did not.
    Degraded(String),
}

/// What the patrol remembers of an agent between ticks. It contains nothing that can be observed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WatchState {
    /// The current rung of the ladder, since when, and the agent's cycle at that time.
    pub rung: Option<Rung>,
    /// The screen, when it was last read, and since when it is unchanged.
    pub screen_at_ms: Option<u64>,
    pub screen: Option<u64>,
    pub screen_since_ms: Option<u64>,
    /// The heartbeat's cycle, and when it was first seen.
    pub cycle: Option<u64>,
    pub cycle_since_ms: Option<u64>,
    /// Its last activity: screen, CPU, a text that it took.
    pub moved_at_ms: Option<u64>,
    /// When the patrol last typed into it.
    pub typed_at_ms: Option<u64>,
    /// Since when no text could be typed into its terminal.
    pub blocked_since_ms: Option<u64>,
    /// How often it was nudged without doing its work, and how much work there was then.
    pub nudged: u32,
    pub nudged_work: u32,
    /// The lowest CPU use of its tree that was seen.
    pub cpu_floor_percent: Option<f64>,
    /// When its last seen limit ends; cleared when it was asked to continue.
    pub limited_until_ms: Option<u64>,
    /// Since when every observation found work for it.
    pub pending_since_ms: Option<u64>,
    /// Since when every observation found it well.
    pub well_since_ms: Option<u64>,
    /// Since when every observation found its session.
    pub there_since_ms: Option<u64>,
    /// When it was last seen alive or last started.
    pub alive_at_ms: Option<u64>,
    /// When its session was found dead while it was wanted.
    pub died_at_ms: Option<u64>,
    /// When the patrol last started or restarted it.
    pub started_at_ms: Option<u64>,
    pub restarted_at_ms: Option<u64>,
    /// Starts and restarts by the patrol.
    pub tally: Tally,
    pub backoff_until_ms: Option<u64>,
    pub crash_loop_since_ms: Option<u64>,
    /// What the operator was notified of, until it is over.
    pub condition: Option<Trouble>,
    pub triage_at_ms: Option<u64>,
    /// When triage last held the ladder back, and how often since its last activity.
    pub held_at_ms: Option<u64>,
    pub held: u32,
    /// Newest first, bounded.
    pub acted: Vec<Acted>,
    /// The reference point of its CPU use.
    pub cpu: Option<CpuMark>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CpuMark {
    pub run: RunId,
    pub at_ms: u64,
    pub cpu_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rung {
    pub step: Step,
    pub at_ms: u64,
    /// Another cycle since then is activity.
    pub cycle: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Acted {
    /// The last time, if the same action was repeated.
    pub at_ms: u64,
    pub step: Step,
    pub reason: String,
    pub by: DecidedBy,
    pub outcome: StepOutcome,
    /// Consecutive actions `nothing` are one entry.
    pub times: u32,
}

/// The two states that cannot be observed: an agent, or a person, reports them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Declared {
    pub state: DeclaredState,
    pub reason: String,
    pub at_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeclaredState {
    Stuck,
    AwaitingGate,
}

/// The conditions of which the operator is notified. A later one is graver: it is notified even if an earlier one
/// was.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum TroubleKind {
    /// Its provider refuses its requests for now.
    Limited,
    /// It takes text, but does not do its work.
    Ignores,
    /// It has work, and no text can be typed into its terminal.
    Blocked,
    /// It is active, but has completed no cycle for very long.
    Stalled,
    /// It reports that it is stuck.
    Stuck,
    /// It is silent with pending work, and too little of it can be observed for a stronger step.
    Unseen,
    /// It is silent with pending work, in a session that Ostler did not create.
    Foreign,
    /// It asks a question that only a person may answer.
    Waiting,
    /// No step brought it back to work.
    Hung,
    CrashLoop,
    /// About all agents.
    MassDeath,
    /// About all agents: tmux does not answer, so the agents in it cannot be observed.
    TmuxUnreachable,
}

/// The begin or end of a condition. Each is notified once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edge {
    None,
    Begin(Trouble),
    End(Trouble),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trouble {
    pub what: TroubleKind,
    pub why: String,
    pub since_ms: u64,
    /// The operator was notified.
    #[serde(alias = "told")]
    pub is_reported: bool,
    /// The question, if the condition is `waiting`: another question is another condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
}

/// The state that an agent, or someone for it, has reported. Kept apart from the patrol's own state, which has one
/// writer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WatchReport {
    pub busy_until_ms: Option<u64>,
    pub declared: Option<Declared>,
}

impl WatchReport {
    /// The longest busy time of one report.
    pub const BUSY_MOST_MS: u64 = 24 * 60 * 60_000;
}

/// What the patrol remembers of all agents between ticks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PatrolState {
    pub ticks: u64,
    pub last_tick_ms: Option<u64>,
    /// The UTC date, as `2026-01-31`, and how often triage was asked on it.
    pub triage_day: String,
    pub triage_asked: u32,
    /// After a gap between ticks (suspend, a changed clock) silence proves nothing for a while from this time on.
    pub resumed_at_ms: Option<u64>,
    /// When the last mass death was noticed. Each death counts for one such event only.
    pub mass_death_at_ms: Option<u64>,
    /// While many agents have died at once (a mass death), only those in `may_start` are started.
    pub mass_death: Option<Trouble>,
    /// The wave of this tick: each is twice the last one, if all agents of the last one are alive.
    pub may_start: Vec<String>,
    /// Set while tmux does not answer.
    pub unreachable: Option<Trouble>,
}

/// The orders of people for all agents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PatrolOrders {
    /// Observe only; take no steps.
    pub paused: Option<Order>,
    /// Every agent is stopped and stays stopped. A stop that a person gave cannot be lifted by a rule.
    pub stopped: Option<Order>,
    /// The agents that were running when the stop was given. They are started when it is lifted.
    pub ended: Vec<String>,
    /// Agents to be started, with the first message for each.
    pub spawns: Vec<PendingSpawn>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    pub by: String,
    pub reason: String,
    pub at_ms: u64,
    pub is_manual: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingSpawn {
    pub agent: String,
    pub message: String,
    pub asked_at_ms: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatrolSave {
    pub states: BTreeMap<String, WatchState>,
    pub town: PatrolState,
}

/// Everything that the patrol remembers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PatrolMemory {
    pub states: BTreeMap<String, WatchState>,
    pub said: BTreeMap<String, WatchReport>,
    pub town: PatrolState,
    pub orders: PatrolOrders,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatrolNote {
    pub unit: Option<String>,
    pub what: What,
    pub why: String,
    pub evidence: Map<String, Value>,
}

macro_rules! words {
    ($type:ident { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(match self { $($type::$variant => $word),+ })
            }
        }
    };
}

words!(Step {
    Nothing => "nothing",
    Start => "start",
    Nudge => "nudge",
    Wake => "wake",
    Interrupt => "interrupt",
    Restart => "restart",
    Escalate => "escalate",
});
words!(SessionHealth {
    Healthy => "healthy",
    SessionDead => "session-dead",
    AgentDead => "agent-dead",
    AgentHung => "agent-hung",
    Unknown => "unknown",
});
words!(Freshness {
    Fresh => "fresh",
    Stale => "stale",
    VeryStale => "very-stale",
    Unknown => "unknown",
});
