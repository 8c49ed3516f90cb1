//! Reads, checks and resolves `ostler.toml`, app manifests and `config.json`. Every error has its file, line, column
//! and text, and a hint.

mod agent;
mod agents;
mod app;
mod checks;
mod container;
mod depends;
mod either;
mod environment;
mod file;
mod findings;
mod import;
mod json;
mod load;
mod located;
mod merge;
mod order;
mod parse;
mod patrol;
mod podman;
mod policy;
mod pools;
mod probes;
mod problem;
mod read;
mod resolve;
mod scalars;
mod schema;
mod select;
mod shape_error;
mod syntax;
mod text;
mod tmux;
mod trust;

pub use app::{DEFAULTS_NAME, JsonKind, MANIFEST_NAME, check_config_json, json_kind};
pub use either::HookTarget;
pub use file::{ConfigFile, DeadmanTable, HookTable, UrlTable};
pub use import::{Imported, import};
pub use load::{Config, ReadContext, SupervisorSettings, is_unit_name, load};
pub use order::waves;
pub use problem::{Position, Problem};
pub use read::read_file;
pub use scalars::{Command, Duration, HttpUrl, parse_duration, parse_port, parse_size};
pub use schema::schema;
pub use select::Selection;
pub use text::text_of;
