//! The words for units.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ReloadArguments {
    /// The supervisor itself: the same as `ostler upgrade`
    #[arg(long = "self", conflicts_with_all = ["file", "owner", "dry_run"])]
    pub own: bool,
    #[command(flatten)]
    pub units: ReloadUnitsArguments,
}

#[derive(Debug, Args)]
pub struct ReloadUnitsArguments {
    /// The file; by default the nearest ostler.toml upward from here
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Use the file although this user owns it, or a folder on the way to it
    #[arg(long, value_name = "USER", requires = "file")]
    pub owner: Option<String>,
    /// Only print what would change
    #[arg(long)]
    pub dry_run: bool,
    /// Return at once
    #[arg(long)]
    pub no_wait: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct UpArguments {
    /// The file, or an app's manifest; by default the nearest ostler.toml upward from here
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Use the file although this user owns it, or a folder on the way to it
    #[arg(long, value_name = "USER", requires = "file")]
    pub owner: Option<String>,
    /// Return at once
    #[arg(long)]
    pub no_wait: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DownArguments {
    /// Only these units, whatever declared them
    #[arg(conflicts_with = "file")]
    pub names: Vec<String>,
    /// The file; by default the nearest ostler.toml upward from here
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Use the file although this user owns it, or a folder on the way to it
    #[arg(long, value_name = "USER", requires = "file")]
    pub owner: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ListArguments {
    /// Also parts of the daemon that are well, such as its tmux server
    #[arg(short, long)]
    pub all: bool,
    /// Look at the processor and memory use of every unit now, however many there are
    #[arg(long)]
    pub usage: bool,
    /// Print one JSON document: a list of units
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CheckArguments {
    /// The file, an app's manifest or a config.json; by default the nearest ostler.toml upward from here
    pub file: Option<PathBuf>,
    /// Use the file although this user owns it, or a folder on the way to it
    #[arg(long, value_name = "USER", requires = "file")]
    pub owner: Option<String>,
    /// Print the JSON Schema of the file instead
    #[arg(long)]
    pub schema: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "What has no counterpart is told on standard error.\n\nExample:  ostler import Procfile > ostler.toml"
)]
pub struct ImportArguments {
    /// The file; what it is shows in its name and content
    pub file: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct UnitsArguments {
    /// Units
    pub names: Vec<String>,
    /// Return at once
    #[arg(long, requires = "names")]
    pub no_wait: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CrashesArguments {
    /// Only those of this unit
    pub name: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
