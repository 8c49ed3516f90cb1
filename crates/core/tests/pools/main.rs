//! Pools: who has a place, who waits, and who is next.

mod common;
mod properties;
mod stories;
