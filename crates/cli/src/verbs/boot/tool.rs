//! Runs the system's tools and reports their errors.

use crate::exit::Failure;
use ostler_os::ToolOutput;

pub fn failed(message: impl Into<String>) -> Failure {
    Failure::failed(anyhow::anyhow!(message.into()))
}

/// Runs a tool to its end. Returns an error only if it cannot be started.
pub fn ask(tool: &str, words: &[&str], input: &[u8]) -> Result<ToolOutput, Failure> {
    ostler_os::run_tool(tool, words, input)
        .map_err(|error| failed(format!("`{tool} {}` cannot be run: {error}", words.join(" "))))
}

/// Like [`ask`], but any exit code except 0 is an error.
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
        Some(code) => format!("failed with exit code {code}"),
        None => "was killed".to_owned(),
    };
    let why =
        if description.complaint.is_empty() { "no error output" } else { &description.complaint };
    failed(format!("`{tool} {}` {how}: {why}", words.join(" ")))
}
