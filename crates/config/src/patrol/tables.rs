//! The shape of `[patrol]`.

use crate::file::{LimitTable, UnitTable};
use crate::located::Located;
use crate::scalars::{Command, Duration, Text};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The watchdog chain.
#[derive(Clone, Debug, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PatrolTable {
    #[schemars(flatten)]
    pub keys: PatrolKeys,
    /// Agents that are watched, by name. Each is a unit: any key of a unit may be beside those here.
    #[schemars(with = "BTreeMap<String, WatchTable>")]
    pub watch: BTreeMap<Located<String>, WatchTable>,
    /// Agents of which there is one for each rig, by their role. `{rig}` stands for its name.
    #[schemars(with = "BTreeMap<String, WatchTable>")]
    pub worker: BTreeMap<Located<String>, WatchTable>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PatrolKeys {
    /// The town: its state files are below it.
    pub root: Option<Located<Text>>,
    /// How often everybody is looked at; by default 3m.
    pub tick: Option<Located<Duration>>,
    /// The tmux server of all agents: "default", a name or a path; by default one of our own.
    pub tmux: Option<Located<Text>>,
    /// Names of rigs: each has one of every worker.
    pub rigs: Option<Vec<Located<Text>>>,
    /// Whose mailbox a person reads; by default overseer.
    pub overseer: Option<Text>,
    /// A command that is told when a person is needed, and when no longer.
    pub on_escalation: Option<Command>,
    /// A command that is asked what to do when a signal tripped.
    pub triage: Option<Located<TriageTable>>,
    /// How patient each step is.
    pub ladder: Option<Located<LadderTable>>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TriageTable {
    /// It gets the observation as JSON on its standard input, and answers a decision as JSON.
    pub command: Option<Command>,
    /// The folder it is started in; by default the town's.
    pub cwd: Option<Text>,
    /// The name it has among the runs; by default gt-boot.
    pub session: Option<Located<Text>>,
    /// How long it may take; by default 60s.
    pub timeout: Option<Duration>,
    /// How long it is not asked about the same agent again; by default 2m.
    pub cooldown: Option<Duration>,
    /// How often it may be asked in a day; by default 50.
    pub daily_budget: Option<u32>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LadderTable {
    /// A session younger than this is given time; by default 5m.
    pub grace: Option<Duration>,
    /// How long an agent has to show progress after a nudge.
    pub nudge: Option<Duration>,
    /// After it was woken with Escape.
    pub wake: Option<Duration>,
    /// After it was interrupted.
    pub interrupt: Option<Duration>,
    /// Between two restarts of one agent.
    pub restart: Option<Duration>,
    /// Output, a changed screen or work of its processes within this time is progress; by default 5m.
    pub progress: Option<Duration>,
    /// An agent whose screen says that it works is not woken before it has shown nothing new for so long; by default 30m.
    pub thinking: Option<Duration>,
    /// After so many nudges that an agent took without doing its work, a person is told; by default 4.
    pub nudges: Option<u32>,
    /// An agent is told to go on when its usage limit is over; by default true.
    pub after_limit: Option<bool>,
    /// From how much of a processor on it works, in percent above its own noise; by default 1.
    pub busy_cpu: Option<f64>,
    /// So many sessions dead within so long are one event; by default 3 in 30s.
    pub mass_death: Option<LimitTable>,
    /// A crash loop is forgotten after this; by default 1h.
    pub crash_loop_decay: Option<Duration>,
}

/// What is said of an agent beside what is said of any unit.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WatchKeys {
    /// The file that it writes to show that it lives; below the root.
    pub heartbeat: Option<Text>,
    /// An older heartbeat is stale; by default 5m.
    pub stale: Option<Located<Duration>>,
    /// A much older one; by default 15m. It must be longer than the agent ever sleeps.
    pub very_stale: Option<Located<Duration>>,
    /// Asked whether there is work for it: 0 is yes, 1 is no.
    pub work: Option<Command>,
    /// Programs of which one must be among its processes, or the agent is dead though its session lives.
    pub process: Option<Vec<Text>>,
    /// By default its name.
    pub role: Option<Text>,
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
