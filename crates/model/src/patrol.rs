//! Patrol: which agents are watched, what was seen of one, what was decided, and what is remembered of it.

use crate::{AgentState, RunId, Tally, What};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What `[patrol]` declares, with every path and default resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatrolSpec {
    /// The town: the documents' state files are below it.
    pub root: String,
    pub tick_ms: u64,
    pub policy: PatrolPolicy,
    pub triage: Option<TriageSpec>,
    pub agents: Vec<WatchSpec>,
    /// Whose mail a person reads.
    pub overseer: String,
    /// A command that is told of it as well, with a document on its standard input.
    pub on_escalation: Option<Vec<String>>,
}

/// One agent that is watched. It is a unit of the same name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WatchSpec {
    pub name: String,
    /// `deacon`, `witness`, `refinery`, or whatever it is called.
    pub role: String,
    pub rig: Option<String>,
    pub session: String,
    /// The file it shows its life by, as a whole path.
    pub heartbeat: Option<String>,
    pub stale_ms: u64,
    pub very_stale_ms: u64,
    /// Asked whether there is work for it: 0 is yes, 1 is no, anything else is not known.
    pub work: Option<Vec<String>>,
    /// Programs one of which must be in its tree, or the agent is dead though its session lives.
    pub process: Vec<String>,
}

/// The numbers of the decisions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatrolPolicy {
    /// A session younger than this is given time.
    pub grace_ms: u64,
    /// How long a rung of the ladder has until it is verified, and the next one may follow. Shorter than a tick,
    /// so that the ladder climbs a rung a tick.
    pub nudge_wait_ms: u64,
    pub wake_wait_ms: u64,
    pub interrupt_wait_ms: u64,
    /// Between two restarts of one agent by us.
    pub restart_cooldown_ms: u64,
    /// The tree uses at least so much of a processor more than five times what it used at its quietest: it works.
    pub busy_cpu_percent: f64,
    /// Output, or a screen that changed, within this time is progress.
    pub progress_ms: u64,
    /// An agent whose screen says that it works is not woken or interrupted before it has shown nothing new for so long.
    #[serde(default = "thinking_ms")]
    pub thinking_ms: u64,
    /// After so many nudges that an agent took without doing its work, a person is notified instead.
    #[serde(default = "nudges_most")]
    pub nudges_most: u32,
    /// When its usage limit is over, an agent is told to go on.
    #[serde(default = "yes")]
    pub resume_after_limit: bool,
    /// Movement without a new heartbeat for so long, with work waiting, is told to a person.
    pub stalled_ms: u64,
    /// An agent with nothing to do is woken at most this often.
    pub idle_wake_ms: u64,
    /// When triage said that nothing is to be done, the ladder waits so long.
    pub hold_ms: u64,
    /// So many sessions dead within so long are one event.
    pub mass_death_count: u32,
    pub mass_death_window_ms: u64,
    /// A crash loop is forgotten after this long.
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

/// A command that is asked what to do, when a signal tripped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriageSpec {
    pub argv: Vec<String>,
    pub cwd: String,
    /// The name of its own session, never one that is watched.
    pub session: String,
    pub timeout_ms: u64,
    pub cooldown_ms: u64,
    pub daily_budget: u32,
}

/// What was seen of an agent at one moment. Nothing of it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Observation {
    pub agent: String,
    pub at_ms: u64,
    pub session: SessionSeen,
    /// How long its session has been there.
    pub age_ms: Option<u64>,
    pub heartbeat: HeartbeatSeen,
    pub pending: PendingSeen,
    /// It said that it is busy until then.
    pub busy_until_ms: Option<u64>,
    pub declared: Option<Declared>,
    pub output_age_ms: Option<u64>,
    /// Since it took a text that was typed into it, whoever sent it: only a program that lives does that.
    #[serde(default)]
    pub taken_age_ms: Option<u64>,
    /// A number that changes with what is on the screen, but for spinners and clocks.
    pub screen: Option<u64>,
    /// What its screen says by its profile. None for a program without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shows: Option<AgentSeen>,
    /// Somebody has typed half a line.
    #[serde(default)]
    pub is_begun: bool,
    /// Ctrl-C is known to interrupt it as it is now, and not to end it.
    #[serde(default)]
    pub can_interrupt: bool,
    /// Of the whole tree, since the last look.
    pub cpu_percent: Option<f64>,
    pub processes: Option<u64>,
    /// The last lines of its screen.
    pub tail: String,
    /// Since its run ended, where the records know. It is dead then.
    #[serde(default)]
    pub dead_age_ms: Option<u64>,
    /// It ended in order to be started again: a handoff, a lifecycle request. That is no failure.
    #[serde(default)]
    pub wants_again: bool,
    /// A person said that it is to be stopped: it is not started.
    pub is_wanted: bool,
}

/// What an agent's screen says of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSeen {
    pub profile: String,
    pub state: AgentState,
    /// What it asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// When its limit is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state", content = "why")]
pub enum SessionSeen {
    /// The agent is in it, and alive.
    Alive,
    /// The session is there, and the agent in it is dead.
    AgentDead(String),
    Dead,
    /// It was put to sleep, because it had nothing to do; mail or a nudge brings it back.
    Asleep(String),
    /// A session of that name is not one that we made: it is looked at and spoken to, never ended.
    Foreign,
    Unknown(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum HeartbeatSeen {
    /// None is declared for it.
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

/// Whether there is something for it to do. What the patrol itself has sent does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum PendingSeen {
    Nothing,
    Work { mail: u32, nudges: u32, work: bool },
    Unknown { why: String },
}

impl PendingSeen {
    /// How many things wait, as far as that is known.
    pub fn amount(&self) -> u32 {
        match self {
            PendingSeen::Work { mail, nudges, work } => {
                mail.saturating_add(*nudges).saturating_add(u32::from(*work))
            }
            PendingSeen::Nothing | PendingSeen::Unknown { .. } => 0,
        }
    }
}

/// How a session is, by what was seen and what is remembered.
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

/// What is done for an agent. The order is the ladder's.
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
    /// To a person.
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
    /// What a person is told, when this is an escalation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<TroubleKind>,
    /// The inputs that decided.
    pub evidence: Map<String, Value>,
}

/// What a triage answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriageAnswer {
    pub step: Step,
    pub reason: String,
}

/// What became of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state", content = "why")]
pub enum StepOutcome {
    Done,
    /// A text was typed, and the agent took it: it lives.
    Taken,
    /// When it came to it, it was not needed any more: the agent had come back to life, for one.
    NotNeeded(String),
    /// No text could be typed: something stands in its input, or it does not take texts yet. That says nothing about the agent.
    Blocked(String),
    Failed(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "why")]
pub enum DecidedBy {
    Mechanical,
    Triage,
    /// Triage was to decide and did not.
    Degraded(String),
}

/// What is remembered of an agent between ticks. Nothing that can be seen is in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WatchState {
    /// The ladder: where it stands, since when, and what the agent had shown then.
    pub rung: Option<Rung>,
    /// The screen, when it was last read, and since when it has been so.
    pub screen_at_ms: Option<u64>,
    pub screen: Option<u64>,
    pub screen_since_ms: Option<u64>,
    /// The heartbeat's cycle, and when it was first seen.
    pub cycle: Option<u64>,
    pub cycle_since_ms: Option<u64>,
    /// When it last moved: its screen, its processor, a text that it took.
    pub moved_at_ms: Option<u64>,
    /// When we last typed into it.
    pub typed_at_ms: Option<u64>,
    /// Since when no text could be typed into its terminal.
    pub blocked_since_ms: Option<u64>,
    /// How often it was nudged and did not do its work, and how much work there was then.
    pub nudged: u32,
    pub nudged_work: u32,
    /// The least of a processor that its tree was seen to use.
    pub cpu_floor_percent: Option<f64>,
    /// When the limit is over that it was last seen to have; taken away when it was told to go on.
    pub limited_until_ms: Option<u64>,
    /// Since when there has been work for it at every look.
    pub pending_since_ms: Option<u64>,
    /// Since when it has shown itself to be well at every look.
    pub well_since_ms: Option<u64>,
    /// Since when its session has been there at every look.
    pub there_since_ms: Option<u64>,
    /// When it was last seen, or last started.
    pub alive_at_ms: Option<u64>,
    /// When its session was found dead while it was wanted.
    pub died_at_ms: Option<u64>,
    /// When we last started or restarted it.
    pub started_at_ms: Option<u64>,
    pub restarted_at_ms: Option<u64>,
    /// Starts and restarts by us.
    pub tally: Tally,
    pub backoff_until_ms: Option<u64>,
    pub crash_loop_since_ms: Option<u64>,
    /// What a person was told of, until it is over.
    pub condition: Option<Trouble>,
    pub triage_at_ms: Option<u64>,
    /// When triage last held the ladder back, and how often since it last moved.
    pub held_at_ms: Option<u64>,
    pub held: u32,
    /// Newest first, bounded.
    pub acted: Vec<Acted>,
    /// From where its use of the processor is counted.
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
    /// Another cycle since is progress.
    pub cycle: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Acted {
    /// The last time, when it was the same several times in a row.
    pub at_ms: u64,
    pub step: Step,
    pub reason: String,
    pub by: DecidedBy,
    pub outcome: StepOutcome,
    /// Nothing, again and again, is one of these.
    pub times: u32,
}

/// The two states that cannot be seen: an agent, or a person, says them.
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

/// What a person is told of. A later one is graver: it is told though an earlier one has been.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum TroubleKind {
    /// Its provider refuses its requests for now.
    Limited,
    /// It takes what is typed and does not do its work.
    Ignores,
    /// It has work, and no text can be typed into its terminal.
    Blocked,
    /// It moves, but has not come to the end of a cycle for very long.
    Stalled,
    /// It says itself that it is stuck.
    Stuck,
    /// It is silent with work waiting, and we cannot see enough of it to do more.
    Unseen,
    /// It is silent with work waiting, in a session that is not ours to end.
    Foreign,
    /// It asks something that only a person may answer.
    Waiting,
    /// Nothing that we did brought it back to work.
    Hung,
    CrashLoop,
    /// Of the whole town.
    MassDeath,
    /// Of the whole town: its tmux does not answer, so nothing is known of those that live there.
    TmuxUnreachable,
}

/// What happens to a trouble: each edge is told once.
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
    /// A person was notified.
    #[serde(alias = "told")]
    pub is_reported: bool,
    /// The question, where that is the trouble: another question is another trouble.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
}

/// What an agent, or somebody for it, has said of it. Kept apart from what the patrol remembers, which has one writer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WatchReport {
    pub busy_until_ms: Option<u64>,
    pub declared: Option<Declared>,
}

impl WatchReport {
    /// Nobody is busy for longer without saying so again.
    pub const BUSY_MOST_MS: u64 = 24 * 60 * 60_000;
}

/// What is remembered of the whole town between ticks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PatrolState {
    pub ticks: u64,
    pub last_tick_ms: Option<u64>,
    /// The day, as `2026-01-31` in UTC, and how often triage was asked on it.
    pub triage_day: String,
    pub triage_asked: u32,
    /// After a gap in the ticks (the machine slept, the clock was set) silence proves nothing for a while from here.
    pub resumed_at_ms: Option<u64>,
    /// When the last mass death was noticed; a death counts for one such event only.
    pub mass_death_at_ms: Option<u64>,
    /// While there is one, only those in `may_start` are started.
    pub mass_death: Option<Trouble>,
    /// This tick's wave: each is twice the last, if all of the last live.
    pub may_start: Vec<String>,
    /// Since tmux has not answered.
    pub unreachable: Option<Trouble>,
}

/// What people have said of the whole town.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PatrolOrders {
    /// Nothing is done, only looked at.
    pub paused: Option<Order>,
    /// Every agent is stopped and stays so. One that a person gave, no rule can lift.
    pub stopped: Option<Order>,
    /// Who was running when it was given, and runs again when it is lifted.
    pub ended: Vec<String>,
    /// Agents that are to be started, with the first message for each.
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

/// Everything that is remembered.
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
