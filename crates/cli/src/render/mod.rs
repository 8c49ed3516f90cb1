//! The text output of the verbs.

mod agent;
mod mail;
mod nudge;
mod paint;
mod progress;
mod run;
mod run_history;
mod table;
mod unit;
mod units;

pub use agent::{agent_of, agent_since_ms, agent_word, state_paint, state_why, state_word};
pub use mail::{MAIL_COLUMNS, harmless, mail_block, mail_row, mail_text};
pub use nudge::{AGENT_COLUMNS, NUDGE_COLUMNS, nudge_row};
pub use paint::{Colours, Paint};
pub use progress::{Progress, ProgressLine};
pub use run::{RUN_COLUMNS, families, result_line, run_row, short, state_line, unit_result_line};
pub use run_history::{entry_line, story_line};
pub use table::{Align, Cell, Column, Fit, cut, table};
#[cfg(feature = "top")]
pub use table::{parts, widths};
pub use unit::{UNIT_COLUMNS, share, size, unit_line, unit_row};
pub use units::{ago, count, duration, option_duration, plain_time, signal, time};

/// The width of the terminal on standard output; `None`, without a limit, if it is no terminal.
pub fn width() -> Option<usize> {
    let is_terminal = ostler_os::is_terminal(std::io::stdout());
    let size = ostler_os::terminal_size(std::io::stdout()).filter(|_| is_terminal);
    size.map(|size| usize::from(size.columns)).filter(|columns| *columns > 0)
}
