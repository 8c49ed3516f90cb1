//! The words of the command line.

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
    CheckArguments, CrashesArguments, DownArguments, ImportArguments, ListArguments,
    ReloadArguments, ReloadUnitsArguments, UnitsArguments, UpArguments,
};
pub use values::parse_duration;

use clap::{Parser, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Parser)]
#[command(
    name = "ostler",
    version,
    about = "Looks after AI agents and the services around them on your machine",
    long_about = "Looks after AI agents and the services around them on your machine: keeps them alive, knows \
exactly which processes are its own, cleans up after them completely, and can say why.\n\n\
A supervisor starts by itself in the background when a command needs one; it lives in a home \
($OSTLER_HOME, else $XDG_STATE_HOME/ostler, else ~/.local/state/ostler).",
    after_help = "Exit codes: 0 done, 1 failed, 2 usage, 3 not running, 4 no such unit or run. `ostler run`: the program's \
own code, 124 timeout, 125 Ostler's own failure, 126 cannot execute, 127 not found, 128+n signal n.\n\n\
Examples:\n  ostler run -- npm test                     run it here, end its whole tree when it ends\n  \
ostler run -d --pty -- claude              run it in the background on a terminal, print its id\n  \
ostler attach 5a2b6c7d8e9f                 look at it and type (Ctrl-] leaves)\n  \
ostler why 5a2b6c7d8e9f                    why is it in the state it is in?"
)]
pub struct Arguments {
    /// Do not start a supervisor if none is running (then: exit 3)
    #[arg(long, global = true)]
    pub no_start: bool,

    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a command: own its whole tree, record it, clean up after it
    Run(LazyArgs<Box<RunArguments>>),
    /// List runs: what they are doing, and why
    Runs(LazyArgs<RunsArguments>),
    /// Wait until a run has ended, and print how
    Wait(LazyArgs<WaitArguments>),
    /// End a run and its whole tree: TERM, the grace, then KILL
    Cancel(LazyArgs<CancelArguments>),
    /// Give text to a run's standard input or terminal
    Write(LazyArgs<WriteArguments>),
    /// Look at a run as it is now, and type into it
    Attach(LazyArgs<AttachArguments>),
    /// Show what is on the terminal of a unit or run now, as text
    Screen(LazyArgs<ScreenArguments>),
    /// Show what units or runs have written
    Logs(LazyArgs<LogsArguments>),
    /// Show the journal: who did what to which run, and why
    Events(LazyArgs<EventsArguments>),
    /// Tell the chain of events behind the present state of a unit or run
    Why(LazyArgs<WhyArguments>),
    /// List the last ends of units: how, after how long, and what followed
    Crashes(LazyArgs<CrashesArguments>),
    /// Print the counters, in the format that Prometheus reads
    Metrics(LazyArgs<JsonArguments>),
    /// Check what this machine lets Ostler do, and whether its home is sound
    Doctor(LazyArgs<JsonArguments>),
    /// Look after one server in the foreground: restarts, backoff, breaker, health checks, watchdog.log
    Watch(LazyArgs<Box<WatchArguments>>),
    /// Type a text into a unit's terminal, see it arrive, and print the receipt
    Nudge(LazyArgs<NudgeArguments>),
    /// Answer a question on a unit's terminal, and see that it is gone
    Answer(LazyArgs<AnswerArguments>),
    /// List what is known of agents, try a profile on a program, let an agent report by itself
    Agents(LazyArgs<AgentsArguments>),
    /// Send mail to agents and people, and read it
    Mail(LazyArgs<MailArguments>),
    /// Leave word for your next session
    Handoff(LazyArgs<HandoffArguments>),
    /// Look after agents in terminals: who is stuck, who only thinks, and what is done about it
    Patrol(LazyArgs<PatrolArguments>),
    /// Make the daemon match ostler.toml, and start what it declares
    Up(LazyArgs<UpArguments>),
    /// End every unit of ostler.toml, or those named, and forget them
    Down(LazyArgs<DownArguments>),
    /// List units: what they do, and why
    Ls(LazyArgs<ListArguments>),
    /// Watch units live, and start, stop, restart them and look into them by single keys
    #[cfg(feature = "top")]
    Top,
    /// Check ostler.toml, an app's manifest or a config.json: with the line, and what would be right
    Check(LazyArgs<CheckArguments>),
    /// Print an ostler.toml made of a Procfile, pm2's ecosystem JSON or a supervisord.conf
    Import(LazyArgs<ImportArguments>),
    /// Start units; without a name the daemon: a guardian, and the supervisor it keeps alive
    Start(LazyArgs<StartArguments>),
    /// Stop units for good; without a name end every run, then the daemon
    Stop(LazyArgs<UnitsArguments>),
    /// Restart units; without a name the daemon: end every run, then start what was not stopped by name
    #[command(
        after_help = "Examples:\n  ostler restart bot                 a unit\n  ostler restart                     the daemon, with all that it \
looks after\n\nTo start the supervisor anew while everything goes on: `ostler reload --self`."
    )]
    Restart(LazyArgs<UnitsArguments>),
    /// Say how units are; without a name whether the daemon runs, and how often it crashed
    Status(LazyArgs<StatusArguments>),
    /// Make the token for HTTP and show it, this once; the one before it is no longer valid
    #[cfg(feature = "http")]
    Token(LazyArgs<TokenArguments>),
    /// Replace the running supervisor's program; every run goes on
    Upgrade(LazyArgs<UpgradeArguments>),
    /// Apply what changed; with --self, start the supervisor anew from the program on disk
    Reload(LazyArgs<ReloadArguments>),
    /// Start the daemon whenever this machine starts
    Enable(LazyArgs<EnableArguments>),
    /// No longer start the daemon with this machine; what runs goes on
    Disable(LazyArgs<BootArguments>),
    /// Be process 1 of a container: run a command, reap everything, pass signals on
    Init(LazyArgs<InitArguments>),
    /// Print a completion script for a shell
    Completions {
        /// bash, zsh, fish, elvish or powershell
        shell: clap_complete::Shell,
    },
    /// Print the names that can be completed now, one a line
    #[command(hide = true)]
    Complete {
        /// Of what
        #[arg(required = true)]
        kinds: Vec<Names>,
    },
    /// Write the pages of the manual into a folder
    #[command(hide = true)]
    Man {
        /// The folder; it is made if it is not there
        folder: PathBuf,
    },
    /// The supervisor itself, in the foreground (other verbs start it by themselves)
    #[command(hide = true)]
    Supervisor {
        /// Take up what lives, end it, and exit
        #[arg(long)]
        then_stop: bool,
    },
    /// Tell what the agent does that calls it, from inside its run
    #[command(hide = true)]
    Report(LazyArgs<ReportArguments>),
    /// Follow the list of agents that a file names
    #[command(hide = true)]
    FollowAgents {
        /// The ostler.toml that names it
        file: PathBuf,
    },
    /// The first process of the run of a container, or of a session of tmux
    #[command(hide = true)]
    Shim {
        /// The unit, for whoever looks at the list of processes
        unit: String,
        /// Remove what is left of it, and exit
        #[arg(long)]
        sweep: bool,
        /// Stand for a container that left the list of agents
        #[arg(long)]
        left: bool,
        /// Serve podman here
        #[arg(long, value_name = "SOCKET")]
        serve: Option<PathBuf>,
        /// Leave the run, and become this
        #[arg(long, value_name = "PROGRAM")]
        conmon: Option<PathBuf>,
        /// Run this inside it, and exit as it does
        #[arg(last = true)]
        command: Vec<String>,
    },
    /// End every child of this process, and exit (what a guardian becomes when nothing else helps)
    #[command(hide = true)]
    Sweep,
    /// The guardian itself (`start` and others start it by themselves)
    #[command(hide = true)]
    Guardian {
        /// The home it guards
        home: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn no_word_means_two_things() {
        Arguments::command().debug_assert();
    }
}
