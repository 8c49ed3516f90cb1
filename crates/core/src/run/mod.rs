mod finish;
mod machine;

pub(crate) use machine::{Output as RunOutput, Phase, Root as RunRoot, Run, RunEvent};
pub use machine::{DRAIN_IDLE_MS, GIVE_UP_MS};
