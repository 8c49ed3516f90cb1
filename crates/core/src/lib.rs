//! Pure decision logic: no clock, no system calls, no async. Time and facts come in as arguments; actions go out. A
//! random seed therefore reproduces a whole history in microseconds.

mod action;
pub mod agent;
mod children;
mod duration;
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
    Event, ExitStatus, Gone, Identity, Member, MemorySeen, NewRun, Observation, Refusing, Streams,
    Survey,
};
pub use lease::{Claim, may_steal};
pub use pool::MachineMemory;
pub use reconcile::{Decision, Ownership, decide};
pub use run::{DRAIN_IDLE_MS, GIVE_UP_MS};
pub use time::Now;
pub use world::World;
