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
    /// Only these units and the units they depend on; patterns such as 'worker-*' work
    #[arg(conflicts_with = "own")]
    pub names: Vec<String>,
    /// Include the units of this profile; may be repeated, '*' is every profile
    #[arg(long, value_name = "PROFILE", env = "OSTLER_PROFILES", value_delimiter = ',')]
    pub profile: Vec<String>,
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
#[command(
    after_help = "Examples:\n  ostler up                          all units of ostler.toml, in the background\n  \
ostler up web                      web and the units it depends on\n  \
ostler up --follow                 in the foreground: their output, Ctrl-C stops what this command started\n  \
ostler up --profile dev            also the units with profiles = [\"dev\"]"
)]
pub struct UpArguments {
    /// Only these units and the units they depend on; patterns such as 'worker-*' work
    pub names: Vec<String>,
    /// Include the units of this profile; may be repeated, '*' is every profile
    #[arg(long, value_name = "PROFILE", env = "OSTLER_PROFILES", value_delimiter = ',')]
    pub profile: Vec<String>,
    /// Stay in the foreground and print the output of the units; Ctrl-C stops what this command started, a second
    /// Ctrl-C kills it
    #[arg(short = 'F', long, conflicts_with_all = ["no_wait", "json"])]
    pub follow: bool,
    /// With --follow: when to stop all units and exit with the exit code of the unit that ended
    #[arg(long, value_name = "WHEN", requires = "follow", default_value = "never")]
    pub exit_on: ExitOn,
    /// Return when the units are ready; this is the default
    #[arg(short, long, conflicts_with = "follow")]
    pub detach: bool,
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

/// When `ostler up --follow` stops everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ExitOn {
    /// A unit failed and is not restarted
    Failure,
    /// A unit ended, with or without a failure, and is not restarted
    Any,
    /// Only Ctrl-C, or when all units have ended
    Never,
}

#[derive(Debug, Args)]
pub struct DownArguments {
    /// Only these units, whichever file declares them; patterns such as 'worker-*' work
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
    /// Only these units; patterns such as 'worker-*' work
    pub names: Vec<String>,
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
    /// Units; patterns such as 'worker-*' work
    pub names: Vec<String>,
    /// Return immediately
    #[arg(long, requires = "names")]
    pub no_wait: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RestartArguments {
    /// Units; patterns such as 'worker-*' work
    #[arg(group = "units")]
    pub names: Vec<String>,
    /// Every unit; the daemon itself keeps running
    #[arg(short, long, conflicts_with = "names", group = "units")]
    pub all: bool,
    /// Return immediately
    #[arg(long, requires = "units")]
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
