//! Pools: which members hold a slot, which wait, and which is next.

mod common;
mod properties;
mod stories;
#[path = "../common/unit_spec.rs"]
mod unit_spec;
