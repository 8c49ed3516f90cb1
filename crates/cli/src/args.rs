//! The words of the command line.

mod mail;
mod nudge;
mod patrol;

pub use mail::{
    HandoffArguments, MailArguments, MailCheckArguments, MailInboxArguments, MailReadArguments,
    MailRemoveArguments, MailSendArguments, MailVerb,
};
pub use patrol::{PatrolArguments, PatrolVerb, SaidState, SayArguments, TriageArguments};

pub use nudge::{NudgeArguments, NudgeMode};

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use ostler_model::{Limits, TerminalSize};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
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
    Run(Box<RunArguments>),
    /// List runs: what they are doing, and why
    Runs(RunsArguments),
    /// Wait until a run has ended, and print how
    Wait(WaitArguments),
    /// End a run and its whole tree: TERM, the grace, then KILL
    Cancel(CancelArguments),
    /// Give text to a run's standard input or terminal
    Write(WriteArguments),
    /// Look at a run as it is now, and type into it
    Attach(AttachArguments),
    /// Show what units or runs have written
    Logs(LogsArguments),
    /// Show the journal: who did what to which run, and why
    Events(EventsArguments),
    /// Tell the chain of events behind the present state of a unit or run
    Why(WhyArguments),
    /// List the last ends of units: how, after how long, and what followed
    Crashes(CrashesArguments),
    /// Print the counters, in the format that Prometheus reads
    Metrics(JsonArguments),
    /// Check what this machine lets Ostler do, and whether its home is sound
    Doctor(JsonArguments),
    /// Look after one server in the foreground: restarts, backoff, breaker, health checks, watchdog.log
    Watch(Box<WatchArguments>),
    /// Type a text into a unit's terminal, see it arrive, and print the receipt
    Nudge(NudgeArguments),
    /// Send mail to agents and people, and read it
    Mail(MailArguments),
    /// Leave word for your next session
    Handoff(HandoffArguments),
    /// Look after agents in terminals: who is stuck, who only thinks, and what is done about it
    Patrol(PatrolArguments),
    /// Make the daemon match ostler.toml, and start what it declares
    Up(UpArguments),
    /// End every unit of ostler.toml, or those named, and forget them
    Down(DownArguments),
    /// List units: what they do, and why
    Ls(ListArguments),
    /// Watch units live, and start, stop, restart them and look into them by single keys
    #[cfg(feature = "top")]
    Top,
    /// Check ostler.toml, an app's manifest or a config.json: with the line, and what would be right
    Check(CheckArguments),
    /// Print an ostler.toml made of a Procfile, pm2's ecosystem JSON or a supervisord.conf
    Import(ImportArguments),
    /// Start units; without a name the daemon: a guardian, and the supervisor it keeps alive
    Start(StartArguments),
    /// Stop units for good; without a name end every run, then the daemon
    Stop(UnitsArguments),
    /// Restart units; without a name the daemon: end every run, then start what was not stopped by name
    #[command(
        after_help = "Examples:\n  ostler restart bot                 a unit\n  ostler restart                     the daemon, with all that it \
looks after\n\nTo start the supervisor anew while everything goes on: `ostler reload --self`."
    )]
    Restart(UnitsArguments),
    /// Say how units are; without a name whether the daemon runs, and how often it crashed
    Status(StatusArguments),
    /// Make the token for HTTP and show it, this once; the one before it is no longer valid
    #[cfg(feature = "http")]
    Token(TokenArguments),
    /// Replace the running supervisor's program; every run goes on
    Upgrade(UpgradeArguments),
    /// Apply what changed; with --self, start the supervisor anew from the program on disk
    Reload(ReloadArguments),
    /// Start the daemon whenever this machine starts
    Enable(EnableArguments),
    /// No longer start the daemon with this machine; what runs goes on
    Disable(BootArguments),
    /// Be process 1 of a container: run a command, reap everything, pass signals on
    Init(InitArguments),
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
    /// Follow the list of agents that a file names
    #[command(hide = true)]
    Agents {
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
pub struct ReloadArguments {
    /// The supervisor itself: the same as `ostler upgrade`
    #[arg(long = "self", conflicts_with_all = ["file", "dry_run"])]
    pub own: bool,
    #[command(flatten)]
    pub units: ReloadUnitsArguments,
}

#[derive(Debug, Args)]
pub struct ReloadUnitsArguments {
    /// The file; by default the nearest ostler.toml upward from here
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
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
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ListArguments {
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

#[derive(Debug, Args)]
pub struct WhyArguments {
    /// A unit, or a run by its id or enough of its beginning or end
    pub name: String,
    /// Every event that is kept, not just the last 50 (JSON always has all)
    #[arg(short, long)]
    pub all: bool,
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

#[derive(Debug, Args)]
#[command(
    after_help = "The program's output goes to your terminal (stdout to stdout, stderr to stderr) and into the run's log.\n\
Ctrl-C ends the run, and so does closing your terminal; use -d for what should stay. With --pty on a terminal, keys go to the program and Ctrl-] leaves it running."
)]
pub struct RunArguments {
    /// Run in the background and print the run id
    #[arg(short, long)]
    pub detach: bool,
    /// Give it a terminal of its own
    #[arg(long)]
    pub pty: bool,
    /// The terminal's size
    #[arg(long, value_name = "COLUMNSxROWS", value_parser = parse_size, requires = "pty")]
    pub size: Option<TerminalSize>,
    /// End it when it has run this long (500ms, 30s, 10m, 1h30m; 0 is off)
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_hyphen_values = true)]
    pub timeout: Option<u64>,
    /// End it when it has written nothing for this long
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_hyphen_values = true)]
    pub no_output_timeout: Option<u64>,
    /// How long it has between TERM and KILL (at most 60s)
    #[arg(long, value_name = "DURATION", value_parser = parse_grace, default_value = "3s")]
    pub grace: u64,
    /// How much memory its whole tree may have (64M, 2G)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub memory: Option<u64>,
    /// Its part of the processor beside others, who have 1024
    #[arg(long, value_name = "SHARES", value_parser = clap::value_parser!(u64).range(2..=262_144))]
    pub cpu_shares: Option<u64>,
    /// How many descriptors each of its processes may have
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(3..))]
    pub fds: Option<u64>,
    /// Group runs under a name of yours
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub session: String,
    /// Replace the live run of the same key, if there is one
    #[arg(long, value_name = "KEY")]
    pub scope: Option<String>,
    /// Start in this folder
    #[arg(long, value_name = "FOLDER")]
    pub cwd: Option<PathBuf>,
    /// Set a variable; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = OsStringValueParser::new().try_map(parse_variable))]
    pub env: Vec<OsString>,
    /// Take a variable out of its environment; may be repeated
    #[arg(long, value_name = "NAME")]
    pub unset: Vec<OsString>,
    /// Keep its standard input open: yours in the foreground, `ostler write` in the background
    #[arg(long)]
    pub stdin: bool,
    /// Let descendants that leave the boundary go on as runs of their own
    #[arg(long)]
    pub allow_detach: bool,
    /// End with the result as one JSON line
    #[arg(long)]
    pub json: bool,
    /// Do not show the output; put it into the JSON result (stdout, stderr)
    #[arg(long, requires = "json", conflicts_with = "detach")]
    pub capture: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "Restarts it unless it ends with 0, 2, 100 or more, or by TERM or INT. Its exit code is the server's own (128+n for signal n), \
100 if it ended too often, 125 for a failure of Ostler's own. TERM, INT and QUIT are passed on.\n\n\
Variables: PORT, HEALTH_CHECK_ENABLED=false, DEBUG. PLOINKY_ROUTER_PID_FILE is not passed on.\n\n\
Example:  PORT=8080 ostler watch -- node server.js"
)]
pub struct WatchArguments {
    /// The unit's name; by default watch-PORT
    #[arg(long)]
    pub name: Option<String>,
    /// Where it serves; by default $PORT, else 8080
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Where what happens is written down
    #[arg(long, value_name = "FILE", default_value = "logs/watchdog.log")]
    pub log: PathBuf,
    /// Do not ask it whether it is healthy
    #[arg(long)]
    pub no_health: bool,
    /// What is asked; by default http://127.0.0.1:PORT/health
    #[arg(long, value_name = "URL", conflicts_with = "no_health")]
    pub health_url: Option<String>,
    /// How often it is asked
    #[arg(long, value_name = "DURATION", value_parser = parse_time, default_value = "30s")]
    pub health_interval: String,
    /// How long an answer may take
    #[arg(long, value_name = "DURATION", value_parser = parse_time, default_value = "5s")]
    pub health_timeout: String,
    /// How long after its start it is asked first
    #[arg(long, value_name = "DURATION", value_parser = parse_time, default_value = "10s")]
    pub health_start_after: String,
    /// After so many failures in a row it is replaced
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    pub health_failures: u32,
    /// How long it has between being asked to end and KILL (at most 60s)
    #[arg(long, value_name = "DURATION", value_parser = parse_grace, default_value = "15s")]
    pub grace: u64,
    /// The first wait before it is started again; each one is twice as long
    #[arg(long, value_name = "DURATION", value_parser = parse_time, default_value = "1s")]
    pub backoff: String,
    /// The longest wait
    #[arg(long, value_name = "DURATION", value_parser = parse_time, default_value = "30s")]
    pub backoff_most: String,
    /// One that ran longer begins with the first wait again
    #[arg(long, value_name = "DURATION", value_parser = parse_time, default_value = "60s")]
    pub reset_after: String,
    /// So many ends within the window are too many
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    pub restarts: u32,
    /// How long an end counts
    #[arg(long, value_name = "DURATION", value_parser = parse_time, default_value = "60s")]
    pub window: String,
    /// The command and its arguments, after --
    #[arg(required = true, last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct RunsArguments {
    /// Only those that are not over
    #[arg(long)]
    pub live: bool,
    /// All that are kept, not just the newest ended ones (JSON always has all)
    #[arg(short, long)]
    pub all: bool,
    /// Only those of this session
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
    /// Print one JSON document: a list of records
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct WaitArguments {
    /// A run id, or enough of its beginning or end
    pub run: String,
    /// Exit with the run's own code, as `ostler run` would
    #[arg(long)]
    pub exit_code: bool,
    /// Give up after this long (exit 124); the run goes on
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_hyphen_values = true)]
    pub timeout: Option<u64>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CancelArguments {
    /// Run ids, or enough of their beginning or end
    #[arg(required = true)]
    pub runs: Vec<String>,
    /// Do not wait until they are gone
    #[arg(long)]
    pub no_wait: bool,
    /// Print one JSON document a run
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct WriteArguments {
    /// A run id, or enough of its beginning or end
    pub run: String,
    /// This text, instead of what comes on standard input
    #[arg(long)]
    pub text: Option<OsString>,
    /// Close its standard input afterwards (on a terminal: Ctrl-D)
    #[arg(long)]
    pub eof: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AttachArguments {
    /// A run id, or enough of its beginning or end
    pub run: String,
    /// Only look
    #[arg(long)]
    pub read_only: bool,
    /// The key that leaves, as ctrl-X
    #[arg(long, value_name = "KEY", default_value = "ctrl-]", value_parser = parse_key)]
    pub detach_key: u8,
}

#[derive(Debug, Args)]
pub struct LogsArguments {
    /// Units, or runs by their id or enough of its beginning or end
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Go on with what comes, until the run has ended; of a unit, across its restarts, until it is stopped
    #[arg(short, long)]
    pub follow: bool,
    /// Of a unit: the run before its present one
    #[arg(short, long, conflicts_with_all = ["follow", "since"])]
    pub previous: bool,
    /// Only the last lines
    #[arg(short = 'n', long, value_name = "LINES")]
    pub lines: Option<u64>,
    /// Only what was written in the last 10m, 2h, …
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_hyphen_values = true, conflicts_with = "lines")]
    pub since: Option<u64>,
    /// Only lines that match this regular expression
    #[arg(long, value_name = "REGEX", value_parser = parse_regex)]
    pub grep: Option<regex::bytes::Regex>,
    /// Put the time before each line
    #[arg(short, long)]
    pub timestamps: bool,
    /// Print one JSON document, or with --follow one object a line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct EventsArguments {
    /// Only those of this run
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// Go on with what comes
    #[arg(short, long)]
    pub follow: bool,
    /// Only the last ones
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub last: Option<u64>,
    /// Print one JSON document, or with --follow one object a line
    #[arg(long)]
    pub json: bool,
}

/// Milliseconds. A bare number is not a duration: of what?
pub fn parse_duration(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("{text:?} is not a duration; write it as 500ms, 30s, 10m or 1h30m (0 is off)");
    if text.trim() == "0" {
        return Ok(0);
    }
    let duration: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    u64::try_from(duration.as_millis()).map_err(|_| wrong())
}

/// A duration as it was written, once it is one.
fn parse_time(text: &str) -> Result<String, String> {
    parse_duration(text).map(|_| text.to_owned())
}

/// Bytes, as the kernel counts: 1K is 1024.
fn parse_bytes(text: &str) -> Result<u64, String> {
    const LEAST: u64 = 1 << 20;
    let wrong = || format!("{text:?} is not a size; write it as 512M, 2G or 256MiB");
    let number = text.trim().trim_end_matches("iB");
    let (number, shift) = match number.char_indices().last() {
        Some((at, 'K')) => (&number[..at], 10),
        Some((at, 'M')) => (&number[..at], 20),
        Some((at, 'G')) => (&number[..at], 30),
        Some((at, 'T')) => (&number[..at], 40),
        Some(_) | None => (number, 0),
    };
    let number: u64 = number.trim().parse().map_err(|_| wrong())?;
    let bytes = number.checked_mul(1 << shift).ok_or_else(wrong)?;
    if bytes < LEAST {
        return Err(format!("{text:?} is less than any program needs; it is at least 1M"));
    }
    Ok(bytes)
}

fn parse_grace(text: &str) -> Result<u64, String> {
    let grace = parse_duration(text)?;
    if grace > Limits::MAX_GRACE_MS {
        return Err(format!(
            "a grace of {text} is too long; at most {}s",
            Limits::MAX_GRACE_MS / 1_000
        ));
    }
    Ok(grace)
}

fn parse_size(text: &str) -> Result<TerminalSize, String> {
    let wrong = || format!("{text:?} is not a size; write it as 120x30");
    let (columns, rows) = text.split_once('x').ok_or_else(wrong)?;
    let columns = columns.parse().map_err(|_| wrong())?;
    let rows = rows.parse().map_err(|_| wrong())?;
    if columns == 0 || rows == 0 {
        return Err(wrong());
    }
    Ok(TerminalSize { columns, rows })
}

fn parse_variable(text: OsString) -> Result<OsString, String> {
    match text.as_bytes().iter().position(|byte| *byte == b'=') {
        Some(1..) => Ok(text),
        Some(0) | None => Err(format!("{text:?} is not a variable; write it as NAME=VALUE")),
    }
}

fn parse_regex(text: &str) -> Result<regex::bytes::Regex, String> {
    regex::bytes::Regex::new(text).map_err(|error| error.to_string())
}

fn parse_key(text: &str) -> Result<u8, String> {
    let wrong = || format!("{text:?} is not a key; write it as ctrl-] or ctrl-a");
    let key = text.strip_prefix("ctrl-").filter(|key| key.len() == 1).ok_or_else(wrong)?;
    match key.as_bytes()[0].to_ascii_uppercase() {
        key @ b'@'..=b'_' => Ok(key & 0x1f),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_nonsense_is_told() {
        assert_eq!(parse_duration("500ms"), Ok(500));
        assert_eq!(parse_duration("1h30m"), Ok(5_400_000));
        assert_eq!(parse_duration("0"), Ok(0));
        for bad in ["banana", "10", "-5s", "", "5 parsecs"] {
            let message = parse_duration(bad).expect_err(bad);
            assert!(message.contains("30s"), "{message}");
        }
        assert!(parse_grace("61s").is_err());
    }

    #[test]
    fn keys_sizes_and_variables() {
        assert_eq!(parse_key("ctrl-]"), Ok(0x1d));
        assert_eq!(parse_key("ctrl-a"), Ok(1));
        assert!(parse_key("x").is_err());
        assert!(parse_size("0x5").is_err());
        assert_eq!(parse_size("80x24"), Ok(TerminalSize { columns: 80, rows: 24 }));
        assert!(parse_variable("=x".into()).is_err());
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
