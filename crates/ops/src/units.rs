//! Units: declare, start, stop, wait, show.

use crate::Done;
use crate::operation::{operation, repeatable};
use ostler_model::{Change, Depth, PoolSpec, UnitLook, UnitSpec, UnitView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Declare {
    pub units: Vec<UnitSpec>,
    /// The pools of the file. Pools that the file declared earlier and that are missing here are dropped.
    #[serde(default)]
    pub pools: Vec<PoolSpec>,
    /// Units of this file that are missing here are removed.
    pub file: Option<String>,
    /// Units of this file that stay as they are, although they are missing in `units`.
    #[serde(default)]
    pub keep: Vec<String>,
    /// Units to remove, whatever file declared them.
    #[serde(default)]
    pub gone: Vec<String>,
    /// Also start units that are stopped.
    pub start: bool,
    pub dry_run: bool,
}

impl Declare {
    /// No units, no file; units named later are to run.
    pub fn of_no_file() -> Self {
        Self {
            units: Vec::new(),
            pools: Vec::new(),
            file: None,
            keep: Vec::new(),
            gone: Vec::new(),
            start: true,
            dry_run: false,
        }
    }
}

repeatable!(Declare: "units.declare", Command, Operator, Quick, At("/units") => Vec<Change>,
    "declare the units of a file; the response lists the changes");

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Start {
    /// Sent as `names`, which daemons of version 0.1 expect.
    #[serde(rename(deserialize = "units"), alias = "names")]
    pub names: Vec<String>,
}

repeatable!(Start: "units.start", Command, Operator, Quick, At("/units/{unit}/start") => Done, "start units");

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Stop {
    #[serde(rename(deserialize = "units"), alias = "names")]
    pub names: Vec<String>,
}

repeatable!(Stop: "units.stop", Command, Operator, Quick, At("/units/{unit}/stop") => Done, "stop units");

/// A repeated request would restart twice.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Restart {
    #[serde(rename(deserialize = "units"), alias = "names")]
    pub names: Vec<String>,
}

operation!(Restart: "units.restart", Command, Operator, Quick, At("/units/{unit}/restart") => Done, "stop units and start them again");

/// Wakes a suspended unit; does nothing to any other.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Wake {
    #[serde(rename(deserialize = "unit"), alias = "name")]
    pub name: String,
    /// Why it is woken, for the journal.
    pub why: String,
}

repeatable!(Wake: "units.wake", Command, Operator, Quick, At("/units/{unit}/wake") => Done, "wake a suspended unit");

/// The response comes when it is true for all of them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Await {
    #[serde(rename(deserialize = "units"), alias = "names")]
    pub names: Vec<String>,
    pub until: AwaitUntil,
}

operation!(Await: "units.await", Query, ReadOnly, Waiting, At("/units/{unit}/await") => Vec<UnitView>, "wait until units are settled or stopped");

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AwaitUntil {
    Settled,
    Stopped,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct List {}

operation!(List: "units.list", Query, ReadOnly, Large, List("/units", "unit") => Vec<UnitView>, "list all units");

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Look {
    /// All units if empty. Unknown names are left out.
    #[serde(rename(deserialize = "units"), alias = "names", default)]
    pub names: Vec<String>,
    #[serde(default)]
    pub depth: Depth,
    /// Leave out what a table does not show.
    #[serde(default)]
    pub brief: bool,
}

operation!(Look: "units.look", Query, ReadOnly, Large, At("/daemon/usage") => Vec<UnitLook>, "show units with their resource use");

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Show {
    pub unit: String,
    #[serde(default)]
    pub depth: Depth,
}

operation!(Show: "units.show", Query, ReadOnly, Large, At("/units/{unit}") => UnitLook, "show a unit with its resource use and the last hour of it");
