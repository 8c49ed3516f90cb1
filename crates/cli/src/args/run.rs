//! The words for runs.

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
    /// Wait for a place in this pool, which [pools.NAME] of an ostler.toml declares
    #[arg(long, value_name = "NAME")]
    pub pool: Option<String>,
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
    /// Let descendants that leave the process group go on as runs of their own
    #[arg(long)]
    pub allow_detach: bool,
    /// End with 125 if a descendant that left the process group outlives the program
    #[arg(long, conflicts_with = "allow_detach")]
    pub strict: bool,
    /// Called from inside a run: go on when that run ends
    #[arg(long)]
    pub keep: bool,
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

/// The words of `run` alone.
#[derive(Parser)]
struct Only {
    #[command(flatten)]
    run: RunArguments,
}

impl RunArguments {
    /// A program on a terminal of its own, as `run --pty` has it.
    pub fn on_terminal(command: &[OsString], session: &str) -> Self {
        let words = ["run", "--pty", "--size", "120x40", "--session", session, "--"];
        let words = words.into_iter().map(OsString::from).chain(command.iter().cloned());
        Only::parse_from(words).run
    }
}

#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "Restarts it unless it ends with 0, 2, 100 or more, or by TERM or INT. Its exit code is the server's own (128+n for signal n), \
100 if it ended too often, 125 for a failure of Ostler's own. TERM, INT and QUIT are passed on.\n\n\
Variables: PORT, HEALTH_CHECK_ENABLED=false, DEBUG, PLOINKY_WATCHDOG_TEST_MODE=1 (nothing is told or logged). PLOINKY_ROUTER_PID_FILE is not passed on.\n\n\
Example:  PORT=8080 ostler watch -- node server.js"
)]
pub struct WatchArguments {
    /// The unit's name; by default watch-PORT
    #[arg(long)]
    pub name: Option<String>,
    /// Where it serves; by default $PORT, else 8080
    #[arg(long, value_parser = parse_port_argument)]
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
    /// Why, in your own words: kept in the record, the journal and the result
    #[arg(long, value_name = "TEXT", value_parser = parse_reason, allow_hyphen_values = true)]
    pub reason: Option<String>,
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
#[command(
    after_help = "For units and runs on a terminal of their own (backend = \"pty\" or \"tmux\", `ostler run --pty`).\n\n\
Example:  ostler screen bot | tail -5"
)]
pub struct ScreenArguments {
    /// A unit, or a run by its id or enough of its beginning or end
    pub name: String,
    /// Print one JSON document: lines, cursor, size, title, and what is known of the agent
    #[arg(long)]
    pub json: bool,
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
