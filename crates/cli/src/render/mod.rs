//! How things are shown to people.

mod run;
mod story;
mod units;

pub use run::{result_line, runs_table, state_line};
pub use story::{entry_line, story_line};
pub use units::{ago, count, duration, plain_duration, plain_time, signal, time};
