//! Values with a meaning of their own. Each is checked where it is read, so that what is wrong with it has its
//! exact place. A message that says what would be right has it after a `; `.

mod choice;
mod command;
mod door;
mod duration;
mod free;
mod percent;
mod size;
mod text;

pub use choice::{
    AdoptWord, BackendWord, ExpectWord, MissedWord, OverlapWord, PresetWord, SignalName,
    SuspendWord, WhenWord,
};
pub use command::Command;
pub use door::{HttpDoor, Lease};
pub use duration::{Duration, Grace, parse_duration};
pub use free::Free;
pub use percent::Percent;
pub use size::{Size, parse_size};
pub use text::{Address, Cron, Factor, HttpUrl, Pattern, Text, TimeZone, VariableName, parse_port};
