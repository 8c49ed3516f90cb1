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
    let output = ask(tool, words, input)?;
    if output.code == Some(0) { Ok(output) } else { Err(failure_of(tool, words, &output)) }
}

pub fn failure_of(tool: &str, words: &[&str], output: &ToolOutput) -> Failure {
    let how = match output.code {
        Some(code) => format!("failed with exit code {code}"),
        None => "was killed".to_owned(),
    };
    let why = if output.error_output.is_empty() { "no error output" } else { &output.error_output };
    failed(format!("`{tool} {}` {how}: {why}", words.join(" ")))
}
