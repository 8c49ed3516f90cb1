mod ending;
mod finish;
mod machine;
mod memory;
mod settling;
mod take_up;
mod timeout;

pub use machine::{DRAIN_IDLE_MS, GIVE_UP_MS};
pub(crate) use machine::{Phase, Run, RunEvent};
pub(crate) use timeout::exceeded;
