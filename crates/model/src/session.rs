//! The conversation of the agent in a unit: the id with which the agent can resume it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kept for a unit's agent until the unit's program changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSession {
    pub id: String,
    /// The unit's program when the id was recorded. Another program does not know this conversation.
    pub program: String,
    pub learned_at_ms: u64,
}

impl AgentSession {
    /// Replaced by the id in `resume`.
    pub const PLACEHOLDER: &'static str = "{session}";
    const ID_MOST: usize = 200;

    /// Whether it can be part of a command, also in a shell, and is no option of a program.
    pub fn is_id(id: &str) -> bool {
        id.len() <= Self::ID_MOST
            && id.starts_with(|c: char| c.is_ascii_alphanumeric())
            && id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c))
    }

    /// The program that a command starts: its first word, or that of the line it gives to a shell.
    pub fn program_of(argv: &[String]) -> &str {
        match argv {
            [shell, option, line, ..] if shell.ends_with("/sh") && option == "-c" => {
                let line = line.strip_prefix("exec ").unwrap_or(line);
                line.split_whitespace().next().unwrap_or(shell)
            }
            [program, ..] => program,
            [] => "",
        }
    }
}

/// What is known about an agent's idleness, from the agent itself or from its screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum AgentIdle {
    /// Idle since this wall time.
    #[serde(rename_all = "camelCase")]
    Since { since_ms: u64 },
    /// It works, waits for a person, or is limited.
    No,
    /// No longer known: its silence counts again.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_is_a_single_plain_word() {
        for id in ["0196a1c2-7b8e-7d1e-9d2e-6f0b7f1f4b11", "ses_5f2Ab", "a", "thread:12.3"] {
            assert!(AgentSession::is_id(id), "{id}");
        }
        let long = "a".repeat(201);
        for id in ["", "-p", "--continue", "a b", "a;b", "$(x)", "a/b", "a\n", "ä", &long] {
            assert!(!AgentSession::is_id(id), "{id:?}");
        }
    }

    #[test]
    fn the_program_is_also_found_behind_the_shell() {
        let argv = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(AgentSession::program_of(&argv(&["claude", "--x"])), "claude");
        let line = argv(&["/bin/sh", "-c", "exec claude --continue"]);
        assert_eq!(AgentSession::program_of(&line), "claude");
        let line = argv(&["/bin/sh", "-c", "cd app && claude"]);
        assert_eq!(AgentSession::program_of(&line), "cd");
        assert_eq!(AgentSession::program_of(&[]), "");
    }
}
