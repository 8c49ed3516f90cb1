//! The live runs: the supervisor's data of each, their adoption after a crash, and their end.

pub(crate) mod input;
pub(crate) mod memory_limits;
pub(crate) mod parents;
pub(crate) mod pools;
pub(crate) mod reconcile;
pub(crate) mod run_end;
pub(crate) mod strays;
pub(crate) mod table;
pub(crate) mod viewers;
