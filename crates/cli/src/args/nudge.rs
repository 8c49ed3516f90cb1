//! Arguments of `nudge`.

use super::parse_duration;
use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(
    after_help = "Ostler types one text at a time into a unit's terminal (backend tmux or pty), looks for it on the screen, and sends it with Enter. \
A text is delivered only when it has left the input box. Queued texts are typed when the agent becomes idle, by the patrol at each tick, and \
before the next nudge.\n\n\
Exit codes: 0 delivered or queued, 1 refused, expired, or typed and not sent, 3 not running, 4 no such unit.\n\n\
Examples:\n  ostler nudge coder \"check your inbox\"\n  git log -3 | ostler nudge planner -\n  \
ostler nudge coder --wake \"are you there?\"    press Escape first\n  ostler nudge --list coder                    queued and past nudges with their receipts"
)]
pub struct NudgeArguments {
    /// The unit
    #[arg(required_unless_present = "list")]
    pub name: Option<String>,
    /// The text, or - for standard input
    #[arg(conflicts_with = "list")]
    pub text: Vec<String>,
    /// When to type it
    #[arg(long, default_value = "wait-idle", conflicts_with = "list")]
    pub mode: NudgeMode,
    /// Put it before other queued texts, and let it wait longer (2 h instead of 30 min)
    #[arg(long, conflicts_with = "list")]
    pub urgent: bool,
    /// How long it may wait
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, conflicts_with = "list")]
    pub expires: Option<u64>,
    /// The sender's name
    #[arg(long = "as", value_name = "NAME", conflicts_with = "list")]
    pub sender: Option<String>,
    /// Press Escape first, and type immediately
    #[arg(long, conflicts_with_all = ["list", "interrupt", "mode"])]
    pub wake: bool,
    /// Press Ctrl-C first, and type immediately
    #[arg(long, conflicts_with_all = ["list", "mode"])]
    pub interrupt: bool,
    /// Type the text alone, without the sender's name
    #[arg(long, conflicts_with = "list")]
    pub raw: bool,
    /// Also type into a tmux session of the unit's name that Ostler did not create
    #[arg(long, conflicts_with = "list")]
    pub foreign: bool,
    /// List queued nudges, and the receipts of past ones
    #[arg(long)]
    pub list: bool,
    /// Type the queued texts of the unit, if it is idle
    #[arg(long, hide = true, conflicts_with_all = ["list", "text", "mode", "wake", "interrupt"])]
    pub deliver: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NudgeMode {
    /// When the agent is idle; after 15 s of waiting the text is queued
    WaitIdle,
    /// Queue the text; it is typed when the agent is idle
    Queue,
    /// Now, whatever the agent is doing
    Immediate,
}
