//! Arguments of the verbs for the daemon and for its start at boot.

use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct JsonArguments {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[cfg(feature = "http")]
#[derive(Debug, Args)]
#[command(
    after_help = "HTTP is off unless OSTLER_HTTP is set to an address when the daemon starts; `ostler status` shows the address.\n\n\
Example:\n  OSTLER_HTTP=127.0.0.1:7420 ostler start\n  \
curl -H \"Authorization: Bearer $(ostler token)\" http://127.0.0.1:7420/api/apps"
)]
pub struct TokenArguments {
    /// Revoke the present token, and create no new one
    #[arg(long)]
    pub revoke: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The new program must answer within 15 s; otherwise the guardian starts the old one again (exit 1). \
Runs continue meanwhile, and requests wait until a supervisor answers. The guardian itself is replaced only by \
`ostler stop` and `ostler start`."
)]
pub struct UpgradeArguments {
    /// The new program; by default the executable of this command
    pub path: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ostler start                       the daemon\n  ostler start bot                   a declared unit\n  \
ostler start --name bot -- node bot.js   a new unit without a file"
)]
pub struct StartArguments {
    /// Units
    pub names: Vec<String>,
    /// Create a unit of this name that runs the command after --
    #[arg(long, requires = "command", conflicts_with = "names")]
    pub name: Option<String>,
    /// Return immediately
    #[arg(long)]
    pub no_wait: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// The command and its arguments, after --
    #[arg(last = true, value_name = "CMD", requires = "name")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct StatusArguments {
    /// Units
    pub names: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The exit code is the command's (128+n for signal n, 126 cannot execute, 127 not found). Processes that the command \
leaves behind are killed: SIGTERM, 3 s, SIGKILL.\n\nExample, in a Dockerfile:  ENTRYPOINT [\"ostler\", \"init\", \"--\"]"
)]
pub struct InitArguments {
    /// The command and its arguments, after --
    #[arg(required = true, last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "With systemd, systemd itself is the guardian of the supervisor; runs survive `systemctl restart`. launchd and cron \
call `ostler start`. A daemon that is already running keeps running."
)]
pub struct EnableArguments {
    #[command(flatten)]
    pub boot: BootArguments,
    /// Print the files that would be written, and change nothing
    #[arg(long, conflicts_with = "json")]
    pub print: bool,
}

#[derive(Debug, Args)]
pub struct BootArguments {
    /// Use this boot system, instead of the best one available
    #[arg(long, value_name = "NAME")]
    pub with: Option<Means>,
    /// Enable it for the whole system, not for your user alone (systemd; you must be root)
    #[arg(long)]
    pub system: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// The kinds of names for shell completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Names {
    Units,
    /// Live runs, and the newest ended ones.
    Runs,
    LiveRuns,
}

/// The system that starts the daemon at boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Means {
    Systemd,
    Launchd,
    Cron,
}

impl Means {
    pub fn name(self) -> &'static str {
        match self {
            Means::Systemd => "systemd",
            Means::Launchd => "launchd",
            Means::Cron => "cron",
        }
    }
}
