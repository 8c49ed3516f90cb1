//! Asking the system's own tools, and passing on what they complain about.

use crate::exit::Failure;
use ostler_os::ToolOutput;

pub fn failed(message: impl Into<String>) -> Failure {
    Failure::failed(anyhow::anyhow!(message.into()))
}

/// To its end, however it ends. The error is that it could not be started.
pub fn ask(tool: &str, words: &[&str], input: &[u8]) -> Result<ToolOutput, Failure> {
    ostler_os::run_tool(tool, words, input)
        .map_err(|error| failed(format!("`{tool} {}` cannot be run: {error}", words.join(" "))))
}

/// The same where anything but success is a failure.
pub fn demand(tool: &str, words: &[&str], input: &[u8]) -> Result<ToolOutput, Failure> {
    let description = ask(tool, words, input)?;
    if description.code == Some(0) {
        Ok(description)
    } else {
        Err(complain(tool, words, &description))
    }
}

pub fn complain(tool: &str, words: &[&str], description: &ToolOutput) -> Failure {
    let how = match description.code {
        Some(code) => format!("ended with {code}"),
        None => "was killed".to_owned(),
    };
    let why =
        if description.complaint.is_empty() { "without a word" } else { &description.complaint };
    failed(format!("`{tool} {}` {how}: {why}", words.join(" ")))
}
