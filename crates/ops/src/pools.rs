//! Pools: limits for how many units and runs run at once.

use crate::operation::operation;
use ostler_model::PoolView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct List {}

operation!(List: "pools.list", Query, ReadOnly, Large, List("/pools", "name") => Vec<PoolView>, "list the pools with their running and waiting members");
