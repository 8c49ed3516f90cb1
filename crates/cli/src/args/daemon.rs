//! The words for the daemon itself, and for the machine it starts with.

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
    after_help = "HTTP is off unless OSTLER_HTTP names an address where the daemon is started; `ostler status` shows it.\n\n\
Example:\n  OSTLER_HTTP=127.0.0.1:7420 ostler start\n  \
curl -H \"Authorization: Bearer $(ostler token)\" http://127.0.0.1:7420/api/apps"
)]
pub struct TokenArguments {
    /// Make the present token invalid instead, and no new one
    #[arg(long)]
    pub revoke: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The new program is started and must answer within 15 s; if it does not, the old one takes its place again \
(exit 1). Meanwhile every run goes on, and whoever calls is answered by the one that stays. The guardian itself stays the \
one it is until the next `ostler stop` and `ostler start`."
)]
pub struct UpgradeArguments {
    /// The program to go on with; by default the one this command is
    pub path: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ostler start                       the daemon\n  ostler start bot                   a unit that is declared\n  \
ostler start --name bot -- node bot.js   a new unit that is in no file"
)]
pub struct StartArguments {
    /// Units
    pub names: Vec<String>,
    /// A new unit of this name, with the command after --
    #[arg(long, requires = "command", conflicts_with = "names")]
    pub name: Option<String>,
    /// Return at once
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
    after_help = "Its exit code is the command's own (128+n for signal n, 126 cannot execute, 127 not found). What the command \
leaves behind is ended: TERM, 3 s, KILL.\n\nExample, in a Dockerfile:  ENTRYPOINT [\"ostler\", \"init\", \"--\"]"
)]
pub struct InitArguments {
    /// The command and its arguments, after --
    #[arg(required = true, last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Under systemd, systemd itself looks after the supervisor; `systemctl restart` lets every run go on. launchd and cron \
call `ostler start`. A daemon that runs already is not disturbed."
)]
pub struct EnableArguments {
    #[command(flatten)]
    pub boot: BootArguments,
    /// Print what would be written, and do nothing
    #[arg(long, conflicts_with = "json")]
    pub print: bool,
}

#[derive(Debug, Args)]
pub struct BootArguments {
    /// By whose means, instead of the best that is here
    #[arg(long, value_name = "MEANS")]
    pub with: Option<Means>,
    /// For the whole system, not for your user alone (systemd; you must be root)
    #[arg(long)]
    pub system: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// What a shell completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Names {
    Units,
    /// Those that are not over, and the newest that are.
    Runs,
    LiveRuns,
}

/// Who starts things at boot.
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
