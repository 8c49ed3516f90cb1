mod finish;
mod machine;
mod take_up;

pub(crate) use machine::{Phase, Run, RunEvent};
pub use machine::{DRAIN_IDLE_MS, GIVE_UP_MS};
