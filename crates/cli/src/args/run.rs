//! Arguments of the verbs for runs.

use super::values::{
    parse_bytes, parse_duration, parse_grace, parse_key, parse_port_argument, parse_reason,
    parse_regex, parse_size, parse_time, parse_variable,
};
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser};
use ostler_model::TerminalSize;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct WhyArguments {
    /// A unit, or a run id (a unique prefix or suffix is enough)
    pub name: String,
    /// Print every stored event, not only the last 50 (JSON always has all)
    #[arg(short, long)]
    pub all: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The program's output goes to your terminal (stdout to stdout, stderr to stderr) and into the run's log.\n\
Ctrl-C stops the run, and so does closing your terminal; use -d for a run that continues. With --pty on a terminal, keys go to the program and Ctrl-] detaches; the run continues."
)]
pub struct RunArguments {
    /// Run in the background and print the run id
    #[arg(short, long)]
    pub detach: bool,
    /// Run the program on a new pseudoterminal
    #[arg(long)]
    pub pty: bool,
    /// The terminal's size
    #[arg(long, value_name = "COLUMNSxROWS", value_parser = parse_size, requires = "pty")]
    pub size: Option<TerminalSize>,
    /// Stop the run after this time (500ms, 30s, 10m, 1h30m; 0 is off)
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_hyphen_values = true)]
    pub timeout: Option<u64>,
    /// Stop the run when it writes nothing for this time
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_hyphen_values = true)]
    pub no_output_timeout: Option<u64>,
    /// The time between SIGTERM and SIGKILL (at most 60s)
    #[arg(long, value_name = "DURATION", value_parser = parse_grace, default_value = "3s")]
    pub grace: u64,
    /// The memory limit of the whole process tree (64M, 2G)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub memory: Option<u64>,
    /// The CPU weight relative to other runs, whose default is 1024
    #[arg(long, value_name = "SHARES", value_parser = clap::value_parser!(u64).range(2..=262_144))]
    pub cpu_shares: Option<u64>,
    /// The limit of open file descriptors of each process
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(3..))]
    pub fds: Option<u64>,
    /// Wait for a free slot in this pool, declared by [pools.NAME] in an ostler.toml
    #[arg(long, value_name = "NAME")]
    pub pool: Option<String>,
    /// Add the run to this group of runs
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub session: String,
    /// Stop the live run with the same key first, if there is one
    #[arg(long, value_name = "KEY")]
    pub scope: Option<String>,
    /// Start in this directory
    #[arg(long, value_name = "DIRECTORY")]
    pub cwd: Option<PathBuf>,
    /// Set an environment variable; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = OsStringValueParser::new().try_map(parse_variable))]
    pub env: Vec<OsString>,
    /// Remove an environment variable; may be repeated
    #[arg(long, value_name = "NAME")]
    pub unset: Vec<OsString>,
    /// Keep standard input open: your own in the foreground, `ostler write` in the background
    #[arg(long)]
    pub stdin: bool,
    /// Let descendants that leave the process group continue as separate runs
    #[arg(long)]
    pub allow_detach: bool,
    /// Exit with 125 if a descendant that left the process group outlives the program
    #[arg(long, conflicts_with = "allow_detach")]
    pub strict: bool,
    /// When called from inside a run: continue after that run ends
    #[arg(long)]
    pub keep: bool,
    /// Print the result as one JSON line at the end
    #[arg(long)]
    pub json: bool,
    /// Do not print the output; add it to the JSON result (stdout, stderr)
    #[arg(long, requires = "json", conflicts_with = "detach")]
    pub capture: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// The arguments of `run` without the verb.
#[derive(Parser)]
struct Only {
    #[command(flatten)]
    run: RunArguments,
}

impl RunArguments {
    /// The arguments that `run --pty` gets for `command`.
    pub fn on_terminal(command: &[OsString], session: &str) -> Self {
        let words = ["run", "--pty", "--size", "120x40", "--session", session, "--"];
        let words = words.into_iter().map(OsString::from).chain(command.iter().cloned());
        Only::parse_from(words).run
    }
}

#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "Restarts the server unless it exits with 0, 2, or 100 and above, or is killed by SIGTERM or SIGINT. The exit code is the server's (128+n for signal n), \
100 if it failed too often, 125 if Ostler failed. SIGTERM, SIGINT and SIGQUIT are forwarded to the server.\n\n\
Variables: PORT, HEALTH_CHECK_ENABLED=false, DEBUG, PLOINKY_WATCHDOG_TEST_MODE=1 (prints and logs nothing). PLOINKY_ROUTER_PID_FILE is not passed on.\n\n\
Example:  PORT=8080 ostler watch -- node server.js"
)]
pub struct WatchArguments {
    /// The unit's name; by default watch-PORT
    #[arg(long)]
    pub name: Option<String>,
    /// The server's port; by default $PORT, else 8080
    #[arg(long, value_parser = parse_port_argument)]
    pub port: Option<u16>,
    /// The log file of the watchdog
    #[arg(long, value_name = "FILE", default_value = "logs/watchdog.log")]
    pub log: PathBuf,
    /// Do not check the server's health
    #[arg(long)]
    pub no_health: bool,
    /// The URL of the health check; by default http://127.0.0.1:PORT/health
    #[arg(long, value_name = "URL", conflicts_with = "no_health")]
    pub health_url: Option<String>,
    /// The interval between health checks
    #[arg(long, value_name = "DURATION", value_parser = parse_time, default_value = "30s")]
    pub health_interval: String,
    /// The timeout of a health check
    #[arg(long, value_name = "DURATION", value_parser = parse_time, default_value = "5s")]
    pub health_timeout: String,
    /// The delay between a start and the first health check
    #[arg(long, value_name = "DURATION", value_parser = parse_time, default_value = "10s")]
    pub health_start_after: String,
    /// Restart the server after this many failed health checks in a row
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    pub health_failures: u32,
    /// The time between SIGTERM and SIGKILL (at most 60s)
    #[arg(long, value_name = "DURATION", value_parser = parse_grace, default_value = "15s")]
    pub grace: u64,
    /// The delay before the first restart; each further delay is twice as long
    #[arg(long, value_name = "DURATION", value_parser = parse_time, default_value = "1s")]
    pub backoff: String,
    /// The longest delay before a restart
    #[arg(long, value_name = "DURATION", value_parser = parse_time, default_value = "30s")]
    pub backoff_most: String,
    /// A server that ran longer than this restarts with the first delay again
    #[arg(long, value_name = "DURATION", value_parser = parse_time, default_value = "60s")]
    pub reset_after: String,
    /// Give up after this many failures within the window
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    pub restarts: u32,
    /// How long a failure counts
    #[arg(long, value_name = "DURATION", value_parser = parse_time, default_value = "60s")]
    pub window: String,
    /// The command and its arguments, after --
    #[arg(required = true, last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct RunsArguments {
    /// Only live runs
    #[arg(long)]
    pub live: bool,
    /// All recorded runs, not only the newest ended ones (JSON always has all)
    #[arg(short, long)]
    pub all: bool,
    /// Only runs of this session
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
    /// Print one JSON document: a list of records
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct WaitArguments {
    /// A run id (a unique prefix or suffix is enough)
    pub run: String,
    /// Exit with the run's exit code, as `ostler run` does
    #[arg(long)]
    pub exit_code: bool,
    /// Stop waiting after this time (exit 124); the run continues
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_hyphen_values = true)]
    pub timeout: Option<u64>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CancelArguments {
    /// Run ids (a unique prefix or suffix is enough)
    #[arg(required = true)]
    pub runs: Vec<String>,
    /// The reason, stored in the record, the journal and the result
    #[arg(long, value_name = "TEXT", value_parser = parse_reason, allow_hyphen_values = true)]
    pub reason: Option<String>,
    /// Give no grace period: SIGKILL follows SIGTERM at once
    #[arg(long)]
    pub now: bool,
    /// Do not wait until the runs have ended
    #[arg(long)]
    pub no_wait: bool,
    /// Print one JSON document per run
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct WriteArguments {
    /// A run id (a unique prefix or suffix is enough)
    pub run: String,
    /// Write this text instead of standard input
    #[arg(long)]
    pub text: Option<OsString>,
    /// Close the run's standard input afterwards (on a terminal: Ctrl-D)
    #[arg(long)]
    pub eof: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AttachArguments {
    /// A run id (a unique prefix or suffix is enough)
    pub run: String,
    /// Only show the output; send no keys
    #[arg(long)]
    pub read_only: bool,
    /// The key that detaches, written as ctrl-X
    #[arg(long, value_name = "KEY", default_value = "ctrl-]", value_parser = parse_key)]
    pub detach_key: u8,
}

#[derive(Debug, Args)]
#[command(
    after_help = "For units and runs with a terminal (backend = \"pty\" or \"tmux\", `ostler run --pty`).\n\n\
Example:  ostler screen bot | tail -5"
)]
pub struct ScreenArguments {
    /// A unit, or a run id (a unique prefix or suffix is enough)
    pub name: String,
    /// Print one JSON document: lines, cursor, size, title, and the agent's state
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct LogsArguments {
    /// Units, patterns such as 'worker-*', or run ids (a unique prefix or suffix is enough); default: all units
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Print new output until the run ends; of a unit, across restarts, until it is stopped
    #[arg(short, long)]
    pub follow: bool,
    /// Of a unit: print the previous run's output
    #[arg(short, long, conflicts_with_all = ["follow", "since"])]
    pub previous: bool,
    /// Only the last lines
    #[arg(short = 'n', long, value_name = "LINES")]
    pub lines: Option<u64>,
    /// Only output of the last 10m, 2h, …
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_hyphen_values = true, conflicts_with = "lines")]
    pub since: Option<u64>,
    /// Only lines that match this regular expression
    #[arg(long, value_name = "REGEX", value_parser = parse_regex)]
    pub grep: Option<regex::bytes::Regex>,
    /// Print the time before each line
    #[arg(short, long)]
    pub timestamps: bool,
    /// Print one JSON document, or with --follow one object per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct EventsArguments {
    /// Only entries of this run
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// Print new entries as they are written
    #[arg(short, long)]
    pub follow: bool,
    /// Only the last entries
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub last: Option<u64>,
    /// Print one JSON document, or with --follow one object per line
    #[arg(long)]
    pub json: bool,
}
