//! One output writer for pipes and PTYs: descriptor → bounded chunks → segment files with an index, and an in-memory
//! tail. Every viewer reads by offset, so a slow viewer never slows the run.

mod gap_note;
mod open_logs;
mod reader;
mod screen;
mod segment;
mod splice;
mod state;
mod total;
mod writer;

pub use reader::{LogReader, Piece};
pub use state::OutputState;
pub use total::{OutputTotal, default_output_bytes, output_bytes};

pub(crate) use screen::Screen;
pub(crate) use segment::{StreamKind, end_on_disk, recent_gaps};
pub(crate) use splice::left_over;
pub(crate) use total::{Sweep, Swept};
pub(crate) use writer::{NewLog, OutputEvent, OutputWriter, Resumed, Source};
