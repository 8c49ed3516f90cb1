//! The tables of `[patrol]`.

use crate::file::{LimitTable, UnitTable};
use crate::located::Located;
use crate::scalars::{Command, Duration, Text};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// The watchdog for agents in terminals.
#[derive(Clone, Debug, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PatrolTable {
    /// Where the file names the table.
    #[schemars(skip)]
    pub at: Range<usize>,
    #[schemars(flatten)]
    pub keys: PatrolKeys,
    /// Watched agents, by name. Each agent is a unit, so any key of a unit is allowed in addition.
    #[schemars(with = "BTreeMap<String, WatchTable>")]
    pub watch: BTreeMap<Located<String>, WatchTable>,
    /// Agents that exist once for each entry of rigs, by role; `{rig}` stands for the name of the entry.
    #[schemars(with = "BTreeMap<String, WatchTable>")]
    pub worker: BTreeMap<Located<String>, WatchTable>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PatrolKeys {
    /// Root folder; state files are stored below it.
    pub root: Option<Located<Text>>,
    /// Time between two inspections of all agents; default 3m, at least 100ms.
    pub tick: Option<Located<Duration>>,
    /// tmux server for all agents: "default", a name or a path; default: the daemon's own server.
    pub tmux: Option<Located<Text>>,
    /// Names of projects; each project gets one agent for every [patrol.worker.ROLE].
    pub rigs: Option<Vec<Located<Text>>>,
    /// Mailbox of the human operator; default overseer.
    pub overseer: Option<Text>,
    /// Command to run when a person is needed, and again when no longer.
    pub on_escalation: Option<Command>,
    /// Command that may change a decision of the rules to wake, interrupt or restart an agent, or to call a person.
    pub triage: Option<Located<TriageTable>>,
    /// Delays and thresholds of the steps nudge, wake, interrupt, restart.
    pub ladder: Option<Located<LadderTable>>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TriageTable {
    /// The command; it reads an observation as JSON from standard input and writes a decision as JSON.
    pub command: Option<Command>,
    /// Working directory; default: root.
    pub cwd: Option<Text>,
    /// Session name of its runs; default gt-boot.
    pub session: Option<Located<Text>>,
    /// Maximum duration of the command; default 60s.
    pub timeout: Option<Duration>,
    /// Minimum time between two calls about the same agent; default 2m.
    pub cooldown: Option<Duration>,
    /// Maximum number of calls in a day; default 50.
    pub daily_budget: Option<u32>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LadderTable {
    /// Leave a session alone for this time after its start; default 5m.
    pub grace: Option<Duration>,
    /// Time after a nudge in which the agent must show progress; default 2m.
    pub nudge: Option<Duration>,
    /// Time after a wake (Escape) in which the agent must show progress; default 2m.
    pub wake: Option<Duration>,
    /// Time after an interrupt in which the agent must show progress; default 2m.
    pub interrupt: Option<Duration>,
    /// Minimum time between two restarts of one agent; default 5m.
    pub restart: Option<Duration>,
    /// Output, a changed screen or CPU use within this time counts as progress; default 5m.
    pub progress: Option<Duration>,
    /// While its screen says that an agent works, wait this long for new output before waking it; default 30m.
    pub thinking: Option<Duration>,
    /// Notify a person after this many nudges that an agent accepted without doing its work; default 4.
    pub nudges: Option<u32>,
    /// Tell an agent to continue when its usage limit is over; default true.
    pub after_limit: Option<bool>,
    /// CPU use, in percent of one CPU above its own noise, from which an agent counts as working; default 1.
    pub busy_cpu: Option<f64>,
    /// This many sessions that die within this window are handled as one event; default 3 in 30s.
    pub mass_death: Option<LimitTable>,
    /// Forget a crash loop after this time; default 1h.
    pub crash_loop_decay: Option<Duration>,
}

/// Keys of a watched agent, in addition to the keys of a unit.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WatchKeys {
    /// File that the agent writes as its heartbeat; relative to root.
    pub heartbeat: Option<Text>,
    /// Age after which the heartbeat is stale; default 5m.
    pub stale: Option<Located<Duration>>,
    /// Age after which the heartbeat is very stale; default 15m, or three times stale if that is longer.
    /// It must be longer than the agent ever sleeps.
    pub very_stale: Option<Located<Duration>>,
    /// Command that reports whether the agent has work: exit code 0 is yes, 1 is no.
    pub work: Option<Command>,
    /// Program names; if none of them is among its processes, the agent is dead although its session lives.
    pub process: Option<Vec<Text>>,
    /// Role of the agent; default: its name.
    pub role: Option<Text>,
    /// Project of the agent.
    pub rig: Option<Text>,
}

/// An agent: a unit that is watched.
#[derive(Clone, Debug, Default)]
pub struct WatchTable {
    pub keys: WatchKeys,
    pub unit: UnitTable,
}

impl JsonSchema for WatchTable {
    fn schema_name() -> Cow<'static, str> {
        "WatchTable".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut unit = UnitTable::json_schema(generator);
        let own = WatchKeys::json_schema(generator);
        let own = own.get("properties").cloned();
        if let (Some(all), Some(serde_json::Value::Object(own))) =
            (unit.get_mut("properties").and_then(|all| all.as_object_mut()), own)
        {
            all.extend(own);
        }
        unit.insert("description".to_owned(), "An agent: a unit that is watched.".into());
        unit
    }
}
