//! The patrol's decisions: the table in full, the properties that hold whatever is seen, single stories, and a town
//! that is watched for a month.

#[path = "../simulation/random.rs"]
mod random;

mod common;
mod guards;
mod properties;
mod soak;
mod stories;
mod table;
mod triage;
