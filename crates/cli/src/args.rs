//! The command-line arguments.

mod agent;
mod agents;
mod daemon;
mod lazy_args;
mod mail;
mod nudge;
mod patrol;
mod run;
mod unit;
mod values;

pub use agent::{AnswerArguments, ReportArguments, ReportedState};
pub use agents::{AgentsArguments, AgentsVerb, TestArguments};
#[cfg(feature = "http")]
pub use daemon::TokenArguments;
pub use daemon::{
    BootArguments, EnableArguments, InitArguments, JsonArguments, Means, Names, StartArguments,
    StatusArguments, UpgradeArguments,
};
pub use lazy_args::LazyArgs;
pub use mail::{
    HandoffArguments, MailArguments, MailCheckArguments, MailInboxArguments, MailReadArguments,
    MailRemoveArguments, MailSendArguments, MailVerb,
};
pub use nudge::{NudgeArguments, NudgeMode};
pub use patrol::{PatrolArguments, PatrolVerb, SaidState, SayArguments, TriageArguments};
pub use run::{
    AttachArguments, CancelArguments, EventsArguments, LogsArguments, RunArguments, RunsArguments,
    ScreenArguments, WaitArguments, WatchArguments, WhyArguments, WriteArguments,
};
pub use unit::{
    CheckArguments, CrashesArguments, DownArguments, ExitOn, ImportArguments, ListArguments,
    ReloadArguments, ReloadUnitsArguments, RestartArguments, UnitsArguments, UpArguments,
};
pub use values::parse_duration;

use clap::{Parser, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Parser)]
#[command(
    name = "ostler",
    version,
    about = "Supervise AI agents and the services they need",
    long_about = "Supervise AI agents and the services they need: Ostler restarts them when they fail, tracks every \
process they start, stops whole process trees, and records the reason for each state change.\n\n\
A command that needs the supervisor starts it in the background. All state is kept in one home directory \
($OSTLER_HOME, else $XDG_STATE_HOME/ostler, else ~/.local/state/ostler).",
    after_help = "Exit codes: 0 success, 1 failure, 2 usage error, 3 not running, 4 no such unit or run. `ostler run`: the program's \
exit code, 124 timeout, 125 Ostler failed, 126 cannot execute, 127 not found, 128+n signal n.\n\n\
Examples:\n  ostler run -- npm test                     run in the foreground, stop the whole tree at the end\n  \
ostler run -d --pty -- claude              run in the background on a terminal, print the run id\n  \
ostler attach 5a2b6c7d8e9f                 show its terminal and type into it (Ctrl-] detaches)\n  \
ostler why 5a2b6c7d8e9f                    explain its present state"
)]
pub struct Arguments {
    /// Do not start a supervisor if none is running; exit 3 instead
    #[arg(long, global = true)]
    pub no_start: bool,

    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a command, record it, and stop its whole process tree when it ends
    Run(LazyArgs<Box<RunArguments>>),
    /// List runs with their state and the reason for it
    Runs(LazyArgs<RunsArguments>),
    /// Wait until a run has ended, and print its result
    Wait(LazyArgs<WaitArguments>),
    /// Stop a run and its process tree: SIGTERM, grace period, SIGKILL
    Cancel(LazyArgs<CancelArguments>),
    /// Write to a run's standard input or terminal
    Write(LazyArgs<WriteArguments>),
    /// Connect your terminal to a run: show its output and type into it
    Attach(LazyArgs<AttachArguments>),
    /// Print the terminal screen of a unit or run as text
    Screen(LazyArgs<ScreenArguments>),
    /// Print the output of units or runs
    #[command(visible_alias = "tail")]
    Logs(LazyArgs<LogsArguments>),
    /// Print the journal: each state change, its cause and its reason
    Events(LazyArgs<EventsArguments>),
    /// Explain the state of a unit or run by the events that led to it
    Why(LazyArgs<WhyArguments>),
    /// List the last exits of units: reason, uptime, and what the supervisor did
    Crashes(LazyArgs<CrashesArguments>),
    /// Print metrics in the Prometheus text format
    Metrics(LazyArgs<JsonArguments>),
    /// Check the system's features and the state of the home directory
    Doctor(LazyArgs<JsonArguments>),
    /// Supervise one server in the foreground: restarts, backoff, health checks, watchdog.log
    Watch(LazyArgs<Box<WatchArguments>>),
    /// Type a text into a unit's terminal, verify that it arrived, and print the receipt
    Nudge(LazyArgs<NudgeArguments>),
    /// Answer a question on a unit's terminal, and verify that the question is gone
    Answer(LazyArgs<AnswerArguments>),
    /// List agent profiles, test a profile on a program, install an agent's hooks
    Agents(LazyArgs<AgentsArguments>),
    /// Send mail to agents and people, and read it
    Mail(LazyArgs<MailArguments>),
    /// Send mail to your own next conversation
    Handoff(LazyArgs<HandoffArguments>),
    /// Watch agents in terminals: detect stuck ones, nudge or restart them
    Patrol(LazyArgs<PatrolArguments>),
    /// Apply ostler.toml: create, change and remove units, and start them
    Up(LazyArgs<UpArguments>),
    /// Stop and remove the units of ostler.toml, or the named ones
    Down(LazyArgs<DownArguments>),
    /// List units with their state and the reason for it
    #[command(visible_aliases = ["ps", "list"])]
    Ls(LazyArgs<ListArguments>),
    /// Show units live; single keys start, stop and restart them and show their output
    #[cfg(feature = "top")]
    #[command(visible_alias = "monit")]
    Top,
    /// Check ostler.toml, an app's manifest or a config.json, and print each mistake with its line
    #[command(visible_alias = "validate")]
    Check(LazyArgs<CheckArguments>),
    /// Convert a Procfile, a pm2 ecosystem JSON or a supervisord.conf to ostler.toml
    Import(LazyArgs<ImportArguments>),
    /// Start units; without a name, start the daemon (guardian and supervisor)
    Start(LazyArgs<StartArguments>),
    /// Stop units until they are started by name; without a name, stop every run and the daemon
    Stop(LazyArgs<UnitsArguments>),
    /// Restart units; without a name, restart the daemon and every unit not stopped by name
    #[command(
        after_help = "Examples:\n  ostler restart bot                 one unit\n  ostler restart 'worker-*'          the units that match\n  ostler restart --all               every unit, not the daemon\n  \
ostler restart                     the daemon and its units\n\nTo restart only the supervisor and keep every run: `ostler reload --self`."
    )]
    Restart(LazyArgs<RestartArguments>),
    /// Show the state of units; without a name, of the daemon
    Status(LazyArgs<StatusArguments>),
    /// Create the HTTP token and print it once; the previous token becomes invalid
    #[cfg(feature = "http")]
    Token(LazyArgs<TokenArguments>),
    /// Replace the running supervisor's program; runs continue
    Upgrade(LazyArgs<UpgradeArguments>),
    /// Apply changes of ostler.toml; with --self, restart the supervisor from the program on disk
    Reload(LazyArgs<ReloadArguments>),
    /// Start the daemon at boot
    Enable(LazyArgs<EnableArguments>),
    /// Do not start the daemon at boot; what runs now continues
    Disable(LazyArgs<BootArguments>),
    /// Run a command as process 1 of a container: reap orphans and forward signals
    Init(LazyArgs<InitArguments>),
    /// Print a completion script for a shell
    Completions {
        /// bash, zsh, fish, elvish or powershell
        shell: clap_complete::Shell,
    },
    /// Print the names for shell completion, one per line
    #[command(hide = true)]
    Complete {
        /// The kinds of names
        #[arg(required = true)]
        kinds: Vec<Names>,
    },
    /// Write the manual pages into a directory
    #[command(hide = true)]
    Man {
        /// The directory; it is created if it does not exist
        folder: PathBuf,
    },
    /// Run the supervisor in the foreground (other verbs start it when they need it)
    #[command(hide = true)]
    Supervisor {
        /// Adopt the live runs, stop them, and exit
        #[arg(long)]
        then_stop: bool,
    },
    /// Report the state of the calling agent, from inside its run
    #[command(hide = true)]
    Report(LazyArgs<ReportArguments>),
    /// Follow the list of agents that an ostler.toml names
    #[command(hide = true)]
    FollowAgents {
        /// The ostler.toml
        file: PathBuf,
    },
    /// The first process of a container run or a tmux run
    #[command(hide = true)]
    Shim {
        /// The unit name, shown in process listings
        unit: String,
        /// Remove the container's remains, and exit
        #[arg(long)]
        sweep: bool,
        /// Represent a container that left the list of agents
        #[arg(long)]
        left: bool,
        /// Serve the podman API on this socket
        #[arg(long, value_name = "SOCKET")]
        serve: Option<PathBuf>,
        /// Leave the run, and execute this program
        #[arg(long, value_name = "PROGRAM")]
        conmon: Option<PathBuf>,
        /// Run this command in the container, and exit with its code
        #[arg(last = true)]
        command: Vec<String>,
    },
    /// Kill every child of this process, and exit (the guardian's last resort)
    #[command(hide = true)]
    Sweep,
    /// Run the guardian (`start` and other verbs start it when they need it)
    #[command(hide = true)]
    Guardian {
        /// The home directory
        home: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }
}
