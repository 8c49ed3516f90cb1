use crate::Resources;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a limit is enforced, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitMethod {
    CgroupV2,
    CgroupV1,
    /// We sample the memory of the tree and kill it above the limit.
    Watch,
    /// CPU priority, if there is no cgroup for it.
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

/// The limits of a run, and how each is enforced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Enforced {
    pub resources: Resources,
    pub memory_by: Option<LimitMethod>,
    pub cpu_by: Option<LimitMethod>,
    /// Cgroups created for it outside its boundary, to be removed when the run is over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

impl Enforced {
    /// A short text for the journal.
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
