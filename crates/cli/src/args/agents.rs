//! The words of `agents`.

use super::parse_duration;
use clap::{Args, Subcommand};
use std::ffi::OsString;

#[derive(Debug, Args)]
#[command(
    after_help = "A profile is what is known of one agent: where its input box is, what it shows while it works or asks, how a text is sent. A file in \
~/.config/ostler/agents/*.toml adds one, or replaces the one of the same name.\n\nExamples:\n  ostler agents                         which profiles there are\n  \
ostler agents show claude             one, to begin your own with\n  ostler agents test claude -- claude   start a program, and print what its profile recognises\n  \
ostler agents hooks claude --install  let claude report what it does by itself"
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
    /// Start a program on a terminal of its own, and print what the profile recognises on its screen
    Test(TestArguments),
    /// Print the settings that let an agent report by itself, or put them into its configuration
    Hooks {
        /// The profile
        name: String,
        /// Write them into the agent's own configuration
        #[arg(long)]
        install: bool,
    },
    /// What an agent's hook calls: its event as JSON on standard input or as the last word
    #[command(hide = true)]
    Hook { name: String, event: Option<String> },
}

#[derive(Debug, Args)]
pub struct TestArguments {
    /// The profile
    pub name: String,
    /// How long the screen is watched
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration, default_value = "15s")]
    pub time: u64,
    /// A text that is sent to it as soon as its prompt is there
    #[arg(long, value_name = "TEXT")]
    pub send: Option<String>,
    /// The program and its words
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
