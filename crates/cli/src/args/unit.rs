//! Arguments of the verbs for units.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ReloadArguments {
    /// Restart the supervisor itself, as `ostler upgrade` does
    #[arg(long = "self", conflicts_with_all = ["file", "owner", "dry_run"])]
    pub own: bool,
    #[command(flatten)]
    pub units: ReloadUnitsArguments,
}

#[derive(Debug, Args)]
pub struct ReloadUnitsArguments {
    /// The file; by default ostler.toml in this or the nearest parent directory
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Accept a file that this user owns, or a file in a directory of this user
    #[arg(long, value_name = "USER", requires = "file")]
    pub owner: Option<String>,
    /// Print the changes, and apply nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Return immediately
    #[arg(long)]
    pub no_wait: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct UpArguments {
    /// The file, or an app's manifest; by default ostler.toml in this or the nearest parent directory
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Accept a file that this user owns, or a file in a directory of this user
    #[arg(long, value_name = "USER", requires = "file")]
    pub owner: Option<String>,
    /// Return immediately
    #[arg(long)]
    pub no_wait: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DownArguments {
    /// Only these units, whichever file declares them
    #[arg(conflicts_with = "file")]
    pub names: Vec<String>,
    /// The file; by default ostler.toml in this or the nearest parent directory
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Accept a file that this user owns, or a file in a directory of this user
    #[arg(long, value_name = "USER", requires = "file")]
    pub owner: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ListArguments {
    /// Also list healthy parts of the daemon, such as its tmux server
    #[arg(short, long)]
    pub all: bool,
    /// Sample the CPU and memory use of every unit now, for any number of units
    #[arg(long)]
    pub usage: bool,
    /// Print one JSON document: a list of units
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CheckArguments {
    /// The file, an app's manifest or a config.json; by default ostler.toml in this or the nearest parent directory
    pub file: Option<PathBuf>,
    /// Accept a file that this user owns, or a file in a directory of this user
    #[arg(long, value_name = "USER", requires = "file")]
    pub owner: Option<String>,
    /// Print the JSON Schema of ostler.toml instead
    #[arg(long)]
    pub schema: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Settings that have no counterpart are listed on standard error.\n\nExample:  ostler import Procfile > ostler.toml"
)]
pub struct ImportArguments {
    /// The file; its format is detected from its name and content
    pub file: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct UnitsArguments {
    /// Units
    pub names: Vec<String>,
    /// Return immediately
    #[arg(long, requires = "names")]
    pub no_wait: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CrashesArguments {
    /// Only exits of this unit
    pub name: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
