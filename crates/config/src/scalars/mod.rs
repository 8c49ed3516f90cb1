//! Checked values. Each type checks its value while it is read, so that an error has an exact position. A message may
//! end with `; ` and a hint.

mod app_config;
mod choice;
mod command;
mod duration;
mod percent;
mod size;
mod supervisor;
mod text;

pub use app_config::AnyValue;
pub use choice::{
    AdoptWord, BackendWord, ExpectWord, MissedWord, OverlapWord, PresetWord, SignalName,
    SuspendWord, WhenWord,
};
pub use command::Command;
pub use duration::{Duration, Grace, parse_duration};
pub use percent::Percent;
pub use size::{Size, parse_size};
pub use supervisor::{HttpListen, Lease};
pub use text::{Address, Cron, Factor, HttpUrl, Pattern, Text, TimeZone, VariableName, parse_port};
