use super::file;
use crate::args::ImportArguments;
use crate::exit::{Exit, Failure};
use crate::print::{errln, outln};
use serde_json::json;

/// Prints another tool's file as ostler.toml. Starts nothing, and writes no file.
pub fn import(arguments: &ImportArguments) -> Result<Exit, Failure> {
    let path = std::path::absolute(&arguments.file)?;
    let text = file::text(&path)?.map_err(|problems| refused(&problems))?;
    let imported = ostler_config::import(&path, &text).map_err(|problem| refused(&[problem]))?;
    if arguments.json {
        outln!("{}", json!({ "toml": imported.toml, "notes": imported.notes }));
        return Ok(Exit::DONE);
    }
    outln!("{}", imported.toml.trim_end());
    for note in imported.notes {
        errln!("note: {note}");
    }
    Ok(Exit::DONE)
}

fn refused(problems: &[ostler_config::Problem]) -> Failure {
    let description: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Failure::usage(description.join("\n"))
}
