//! The live runs: what the supervisor holds for each, how they begin after a crash, and how they end.

pub(crate) mod input;
pub(crate) mod memory_limits;
pub(crate) mod parents;
pub(crate) mod pools;
pub(crate) mod reconcile;
pub(crate) mod run_end;
pub(crate) mod strays;
pub(crate) mod table;
pub(crate) mod viewers;
