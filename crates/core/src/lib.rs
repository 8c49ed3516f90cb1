//! Decisions. No clock, no syscalls, no async: time and facts come in as arguments, what is to be
//! done goes out as actions. So a seed is a whole history, replayed in microseconds.

mod action;
pub mod agent;
mod children;
mod event;
pub mod heartbeat;
mod lease;
pub mod patrol;
mod pool;
mod pooling;
mod reconcile;
pub mod restart;
mod run;
mod time;
pub mod unit;
mod world;

pub use action::{Effect, Refusal, Signal, Step, Write};
pub use event::{
    Event, ExitStatus, Gone, Hearing, Identity, Member, MemorySeen, NewRun, Observation, Refusing,
    Survey,
};
pub use lease::{Claim, may_steal};
pub use pool::MachineMemory;
pub use reconcile::{Decision, Ownership, decide};
pub use run::{DRAIN_IDLE_MS, GIVE_UP_MS};
pub use time::Now;
pub use world::World;
