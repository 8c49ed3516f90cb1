//! The resource use of a unit's whole tree, at the time of a sample.

use crate::{
    AgentView, BreakerOpen, Desired, Part, ProbeState, RunId, TmuxSpec, UnitEnd, UnitState,
    UnitView,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One sample of a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// The time of the sample.
    pub at_ms: u64,
    /// Of one CPU, during `over_ms`: since the previous sample, or since its start.
    pub cpu_percent: f64,
    pub over_ms: u64,
    /// Since its start, including ended processes.
    pub cpu_ms: u64,
    pub memory_bytes: u64,
    pub processes: u64,
    /// Bytes read from and written to disks since its start.
    #[serde(default)]
    pub read_bytes: u64,
    #[serde(default)]
    pub written_bytes: u64,
    /// Open file descriptors of all its processes.
    #[serde(default)]
    pub descriptors: u64,
    /// Only if requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tree: Vec<ProcessUsage>,
}

/// One process of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessUsage {
    pub pid: i32,
    pub parent: i32,
    pub command: String,
    pub cpu_ms: u64,
    pub memory_bytes: u64,
}

/// A unit and its resource use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnitLook {
    #[serde(with = "CompactView")]
    pub view: UnitView,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The last hour, as far as it was sampled; only if a single unit was requested by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<UsagePoint>,
}

/// The view as it is sent: empty fields are left out, because a table of a thousand units consists mostly of those.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(remote = "UnitView", rename_all = "camelCase")]
struct CompactView {
    #[serde(rename = "unit", alias = "name")]
    name: String,
    state: UnitState,
    desired: Desired,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    why: String,
    #[serde(rename = "sinceAtMs", alias = "sinceMs")]
    since_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run_id: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pid: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started_at_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    restarts: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    command: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    changed: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ends: Vec<UnitEnd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    opened: Option<BreakerOpen>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_at_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tmux: Option<Arc<TmuxSpec>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<Box<AgentView>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<Part>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kept_awake: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probe_state: Option<ProbeState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_seen_running_at: Option<u64>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One point of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsagePoint {
    pub at_ms: u64,
    pub cpu_percent: f64,
    pub memory_bytes: u64,
}

/// How much resource use to sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Depth {
    None,
    /// What is available at once; for many units only the last sample.
    #[default]
    Quick,
    Whole,
    /// With every process.
    Tree,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare() -> UnitView {
        UnitView {
            name: "bot".to_owned(),
            state: UnitState::Stopped,
            desired: Desired::Stopped,
            why: String::new(),
            since_ms: 1,
            run_id: None,
            pid: None,
            started_at_ms: None,
            restarts: 0,
            command: String::new(),
            depends_on: Vec::new(),
            changed: false,
            ends: Vec::new(),
            opened: None,
            next_at_ms: None,
            file: None,
            tmux: None,
            agent: None,
            part: None,
            pool: None,
            agent_session: None,
            kept_awake: None,
            probe_state: None,
            last_seen_running_at: None,
        }
    }

    fn arrived(view: &UnitView) -> UnitView {
        let look = UnitLook { view: view.clone(), usage: None, history: Vec::new() };
        let line = serde_json::to_string(&look).expect("a line");
        serde_json::from_str::<UnitLook>(&line).expect("the same").view
    }

    #[test]
    fn a_view_is_sent_whole_without_its_empty_fields() {
        let run_id = RunId::from_bytes([7; 16]);
        let full = UnitView {
            why: "a word".to_owned(),
            run_id: Some(run_id),
            pid: Some(7),
            started_at_ms: Some(2),
            restarts: 3,
            command: "sleep 1".to_owned(),
            depends_on: vec!["db".to_owned()],
            changed: true,
            ends: vec![UnitEnd {
                run_id,
                at_ms: 4,
                ran_ms: 5,
                description: "exit 1".to_owned(),
                then: "again".to_owned(),
            }],
            opened: Some(BreakerOpen { at_ms: 6, why: "too often".to_owned() }),
            next_at_ms: Some(8),
            file: Some("/ostler.toml".to_owned()),
            agent: Some(Box::new(AgentView {
                profile: "claude".to_owned(),
                question: Some("Do you want to proceed?".to_owned()),
                ..AgentView::default()
            })),
            part: Some(Part::File),
            pool: Some("coders".to_owned()),
            agent_session: Some("s-1".to_owned()),
            kept_awake: Some("1 unread mail".to_owned()),
            probe_state: Some(ProbeState::Success),
            last_seen_running_at: Some(9),
            ..bare()
        };
        assert_eq!(arrived(&full), full);
        assert_eq!(arrived(&bare()), bare());
        let look = UnitLook { view: bare(), usage: None, history: Vec::new() };
        let earlier =
            r#"{"view":{"name":"bot","state":"stopped","desired":"stopped","sinceMs":1}}"#;
        assert_eq!(serde_json::from_str::<UnitLook>(earlier).expect("version 0.1"), look);
        assert_eq!(
            serde_json::to_string(&look).expect("a line"),
            r#"{"view":{"unit":"bot","state":"stopped","desired":"stopped","sinceAtMs":1}}"#
        );
    }
}
