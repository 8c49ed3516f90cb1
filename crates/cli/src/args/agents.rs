//! Arguments of `agents`.

use super::parse_duration;
use clap::{Args, Subcommand};
use std::ffi::OsString;

#[derive(Debug, Args)]
#[command(
    after_help = "A profile describes one agent program: where its input box is, what it shows while it works or asks, how a text is sent. A file in \
~/.config/ostler/agents/*.toml adds a profile, or replaces the one of the same name.\n\nExamples:\n  ostler agents                         list the profiles\n  \
ostler agents show claude             print one, as a start for your own\n  ostler agents test claude -- claude   start a program, and print what the profile recognises\n  \
ostler agents hooks claude --install  let claude report its state through its hooks"
)]
pub struct AgentsArguments {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    #[command(subcommand)]
    pub verb: Option<AgentsVerb>,
}

#[derive(Debug, Subcommand)]
pub enum AgentsVerb {
    /// Print a profile
    Show {
        /// The profile
        name: String,
    },
    /// Start a program on a new terminal, and print what the profile recognises on its screen
    Test(TestArguments),
    /// Print the settings that make an agent report its state, or add them to its configuration
    Hooks {
        /// The profile
        name: String,
        /// Write them into the agent's own configuration
        #[arg(long)]
        install: bool,
    },
    /// Called by an agent's hook: reads the event as JSON from standard input or the last argument
    #[command(hide = true)]
    Hook { name: String, event: Option<String> },
}

#[derive(Debug, Args)]
pub struct TestArguments {
    /// The profile
    pub name: String,
    /// How long to watch the screen
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration, default_value = "15s")]
    pub time: u64,
    /// Send this text as soon as the prompt appears
    #[arg(long, value_name = "TEXT")]
    pub send: Option<String>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
