//! Arguments of `ostler patrol`.

use super::parse_duration;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ostler patrol status                      show every watched agent and its state\n  \
ostler patrol tick                        check every agent now, and act\n  \
ostler patrol triage --dry-run            show the question to triage and the decision\n  \
ostler patrol pause -m \"maintenance\"      check the agents, but do not act\n  \
ostler patrol estop -m \"wrong branch\"     stop every agent, until `estop --clear`"
)]
pub struct PatrolArguments {
    #[command(subcommand)]
    pub verb: PatrolVerb,
}

#[derive(Debug, Subcommand)]
pub enum PatrolVerb {
    /// Check every agent now, and act
    Tick(TickArguments),
    /// Show the state of every agent and the last action on it
    Status(TickArguments),
    /// Ask the triage command about agents and apply its answer; without one, decide by rules
    Triage(TriageArguments),
    /// Ping an agent: exit 0 if it answers, is not running or was just killed; 2 if it should be killed
    HealthCheck(HealthCheckArguments),
    /// Check the agents but do not act, until `ostler patrol resume`
    Pause(ReasonArguments),
    /// End the pause
    Resume,
    /// Stop every agent and keep them stopped, until `ostler patrol estop --clear`
    Estop(EstopArguments),
    /// Declare an agent busy for some time: its silence is not a fault
    Busy(BusyArguments),
    /// Declare a state that the screen does not show: stuck, or waiting for an approval
    Say(SayArguments),
    /// Start an agent at the next tick, and send it its first message
    Spawn(SpawnArguments),
    /// Reset an agent's crash loop and delays: it may start at the next tick
    Clear(AgentArguments),
    /// Run the patrol (the daemon starts it)
    #[command(hide = true)]
    Run {
        /// The ostler.toml that declares the patrol
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
    /// Only this agent; by default all agents
    pub agent: Option<String>,
    /// Print the question and the decision, and do not act
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask the triage command; decide by rules
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
    /// Restart the agent if it should be killed
    #[arg(long)]
    pub kill: bool,
    /// How long to wait for an answer
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub timeout: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ReasonArguments {
    /// The reason, shown by `ostler patrol status`
    #[arg(short = 'm', long = "message", value_name = "REASON", default_value = "")]
    pub reason: String,
}

#[derive(Debug, Args)]
pub struct EstopArguments {
    /// The reason, shown by `ostler patrol status`
    #[arg(short = 'm', long = "message", value_name = "REASON", default_value = "")]
    pub reason: String,
    /// End the emergency stop: the agents that it stopped start again
    #[arg(long, conflicts_with = "reason")]
    pub clear: bool,
}

#[derive(Debug, Args)]
pub struct BusyArguments {
    /// The agent; by default the calling agent ($OSTLER_AGENT)
    #[arg(long = "as", value_name = "AGENT")]
    pub agent: Option<String>,
    /// How long, from now on; 0 ends it
    #[arg(value_parser = parse_duration)]
    pub time: u64,
}

#[derive(Debug, Args)]
pub struct SayArguments {
    /// The agent; by default the calling agent ($OSTLER_AGENT)
    #[arg(long = "as", value_name = "AGENT")]
    pub agent: Option<String>,
    /// The state
    pub state: SaidState,
    /// The reason
    #[arg(short = 'm', long = "message", value_name = "REASON", default_value = "")]
    pub reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SaidState {
    /// The agent cannot continue without help
    Stuck,
    /// The agent waits for an approval and must not be disturbed
    AwaitingGate,
    /// Neither of these states
    Clear,
}

#[derive(Debug, Args)]
pub struct SpawnArguments {
    /// The agent, declared under [patrol]
    pub agent: String,
    /// The first message
    #[arg(short = 'm', long = "message", value_name = "TEXT", default_value = "")]
    pub message: String,
}

#[derive(Debug, Args)]
pub struct AgentArguments {
    /// The agent
    pub agent: String,
}
