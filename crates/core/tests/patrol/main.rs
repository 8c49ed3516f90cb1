//! The patrol's decisions: the full table, properties that hold for every observation, single stories, and a month of
//! simulated patrol.

#[path = "../simulation/random.rs"]
mod random;

mod common;
mod guards;
mod properties;
mod soak;
mod stories;
mod table;
mod triage;
