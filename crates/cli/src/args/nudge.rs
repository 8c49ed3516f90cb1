//! The words of `nudge`.

use super::parse_duration;
use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(
    after_help = "One text at a time is typed into a unit's terminal (backend tmux or pty), looked for on the screen, and sent with Enter; \
nothing is called delivered that did not leave the input box. What waits is typed when the agent comes to rest, by the patrol at each tick, and \
before the next nudge.\n\n\
Exit codes: 0 delivered or queued, 1 refused, expired, or typed and not sent, 3 not running, 4 no such unit.\n\n\
Examples:\n  ostler nudge deacon \"check your inbox\"\n  git log -3 | ostler nudge mayor -\n  \
ostler nudge deacon --wake \"are you there?\"    Escape first\n  ostler nudge --list deacon                    those that wait or have waited, with their receipts"
)]
pub struct NudgeArguments {
    /// The unit
    #[arg(required_unless_present = "list")]
    pub name: Option<String>,
    /// The text, or - for standard input
    #[arg(conflicts_with = "list")]
    pub text: Vec<String>,
    /// When it is typed
    #[arg(long, default_value = "wait-idle", conflicts_with = "list")]
    pub mode: NudgeMode,
    /// Before others that wait, and it may wait for longer (2 h instead of 30 min)
    #[arg(long, conflicts_with = "list")]
    pub urgent: bool,
    /// How long it may wait
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, conflicts_with = "list")]
    pub expires: Option<u64>,
    /// Who says it
    #[arg(long = "as", value_name = "NAME", conflicts_with = "list")]
    pub sender: Option<String>,
    /// Press Escape first, and type at once
    #[arg(long, conflicts_with_all = ["list", "interrupt", "mode"])]
    pub wake: bool,
    /// Press Ctrl-C first, and type at once
    #[arg(long, conflicts_with_all = ["list", "mode"])]
    pub interrupt: bool,
    /// The text alone, without who says it
    #[arg(long, conflicts_with = "list")]
    pub raw: bool,
    /// Also into a session that has the unit's name and that somebody else made
    #[arg(long, conflicts_with = "list")]
    pub foreign: bool,
    /// Show what waits, and what became of the rest
    #[arg(long)]
    pub list: bool,
    /// Type what waits for the unit, if it is idle
    #[arg(long, hide = true, conflicts_with_all = ["list", "text", "mode", "wake", "interrupt"])]
    pub deliver: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NudgeMode {
    /// Once the agent is idle; if it is not within 15 s, it is queued
    WaitIdle,
    /// Later, when the agent is idle
    Queue,
    /// Now, whatever the agent does
    Immediate,
}
