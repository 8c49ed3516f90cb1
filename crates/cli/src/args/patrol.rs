//! The words of `ostler patrol`.

use super::parse_duration;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ostler patrol status                      who is watched, and how they are\n  \
ostler patrol tick                        look at everybody now, and do what is needed\n  \
ostler patrol triage --dry-run            what would be asked, and decided\n  \
ostler patrol pause -m \"moving house\"     look, but do nothing\n  \
ostler patrol estop -m \"wrong branch\"     stop every agent, until somebody lifts it"
)]
pub struct PatrolArguments {
    #[command(subcommand)]
    pub verb: PatrolVerb,
}

#[derive(Debug, Subcommand)]
pub enum PatrolVerb {
    /// Look at every agent now, and do what is needed
    Tick(TickArguments),
    /// Say how every agent is at this moment, and what was last done for it
    Status(TickArguments),
    /// Ask triage about agents, and do what it says; without triage the mechanical decision
    Triage(TriageArguments),
    /// Ping an agent: exit 0 if it answers, is not running or was just killed; 2 if it should be killed
    HealthCheck(HealthCheckArguments),
    /// Look, but do nothing, until somebody says resume
    Pause(ReasonArguments),
    /// No longer paused
    Resume,
    /// Stop every agent and keep them stopped, until somebody lifts it
    Estop(EstopArguments),
    /// Say for an agent that it is busy until then, whatever its silence
    Busy(BusyArguments),
    /// Say what cannot be seen: an agent is stuck, or waits for a gate
    Say(SayArguments),
    /// Start an agent at the next tick, and give it its first message
    Spawn(SpawnArguments),
    /// Forget an agent's crash loop and its waits: it may be started at the next tick
    Clear(AgentArguments),
    /// Be on patrol (the daemon starts this by itself)
    #[command(hide = true)]
    Run {
        /// The ostler.toml that declares it
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct TickArguments {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TriageArguments {
    /// Only this agent; all of them without one
    pub agent: Option<String>,
    /// Show what would be asked and decided, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Ask nobody: the mechanical decision
    #[arg(long)]
    pub degraded: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct HealthCheckArguments {
    /// The agent
    pub agent: String,
    /// End it and start it anew if it should be killed
    #[arg(long)]
    pub kill: bool,
    /// How long it has to answer
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub timeout: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ReasonArguments {
    /// Why, for whoever wonders later
    #[arg(short = 'm', long = "message", value_name = "REASON", default_value = "")]
    pub reason: String,
}

#[derive(Debug, Args)]
pub struct EstopArguments {
    /// Why, for whoever wonders later
    #[arg(short = 'm', long = "message", value_name = "REASON", default_value = "")]
    pub reason: String,
    /// Lift it: those that it stopped run again
    #[arg(long, conflicts_with = "reason")]
    pub clear: bool,
}

#[derive(Debug, Args)]
pub struct BusyArguments {
    /// The agent; by default the one that this is called in ($OSTLER_AGENT)
    #[arg(long = "as", value_name = "AGENT")]
    pub agent: Option<String>,
    /// For how long from now on; 0 is no longer
    #[arg(value_parser = parse_duration)]
    pub time: u64,
}

#[derive(Debug, Args)]
pub struct SayArguments {
    /// The agent; by default the one that this is called in ($OSTLER_AGENT)
    #[arg(long = "as", value_name = "AGENT")]
    pub agent: Option<String>,
    /// What is so
    pub state: SaidState,
    /// Why
    #[arg(short = 'm', long = "message", value_name = "REASON", default_value = "")]
    pub reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SaidState {
    /// It cannot go on by itself
    Stuck,
    /// It waits for somebody's word, and is not to be disturbed
    AwaitingGate,
    /// Neither
    Clear,
}

#[derive(Debug, Args)]
pub struct SpawnArguments {
    /// The agent; it is declared under [patrol]
    pub agent: String,
    /// What it is told first
    #[arg(short = 'm', long = "message", value_name = "TEXT", default_value = "")]
    pub message: String,
}

#[derive(Debug, Args)]
pub struct AgentArguments {
    /// The agent
    pub agent: String,
}
