//! `ostler.toml`: read, checked, resolved. Whatever is wrong is told with its file, line, column, the line
//! itself, and what would be right.

mod file;
mod order;
mod problem;
mod resolve;
mod words;

pub use file::{ConfigFile, DeadmanTable, HookTable};
pub use order::waves;
pub use problem::{Place, Problem};
pub use resolve::{Circumstances, Config, load};
pub use words::parse_duration;

/// The JSON Schema of `ostler.toml`, from the same types that read it.
pub fn schema() -> String {
    let mut text =
        serde_json::to_string_pretty(&schemars::schema_for!(ConfigFile)).unwrap_or_default();
    text.push('\n');
    text
}
