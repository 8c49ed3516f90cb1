use crate::Resources;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// By what a run is kept to a limit, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitMethod {
    CgroupV2,
    CgroupV1,
    /// We look at how much its tree has, and kill it.
    Watch,
    /// Of the processor, where there is no group to say it for.
    Nice,
}

impl fmt::Display for LimitMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            LimitMethod::CgroupV2 => "cgroup v2",
            LimitMethod::CgroupV1 => "cgroup v1",
            LimitMethod::Watch => "a watch",
            LimitMethod::Nice => "its priority",
        })
    }
}

/// The limits of a run, and how each is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Enforced {
    pub resources: Resources,
    pub memory_by: Option<LimitMethod>,
    pub cpu_by: Option<LimitMethod>,
    /// Groups that were made for it beside its boundary, to be removed when it is over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

impl Enforced {
    /// In a few words, for the journal.
    pub fn description(&self) -> String {
        let mut description = Vec::new();
        if let (Some(bytes), Some(by)) = (self.resources.memory_bytes, self.memory_by) {
            description.push(format!("{bytes} bytes of memory by {by}"));
        }
        if let (Some(shares), Some(by)) = (self.resources.cpu_shares, self.cpu_by) {
            description.push(format!("{shares} processor shares by {by}"));
        }
        if let Some(descriptors) = self.resources.descriptors {
            description.push(format!("{descriptors} descriptors for each process"));
        }
        description.join(", ")
    }
}
