use super::file;
use crate::args::CheckArguments;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use crate::render;
use ostler_config::{JsonKind, Problem, check_config_json, json_kind};
use serde_json::{Value, json};
use std::path::Path;

/// Reads the file and prints whether it is valid; starts nothing.
pub fn check(arguments: &CheckArguments) -> Result<Exit, Failure> {
    if arguments.schema {
        outln!("{}", ostler_config::schema().trim_end());
        return Ok(Exit::DONE);
    }
    let path = file::find(arguments.file.as_deref(), arguments.owner.as_deref())?;
    let read = file::text(&path)?.and_then(|text| checked(&path, &text));
    if arguments.json {
        return Ok(print_json(&path, read));
    }
    let Read { right, warnings } = read.map_err(|problems| file::refused(&path, &problems))?;
    file::warn(&warnings);
    let what = match right {
        ValidFile::Units(units) => render::count(units.len(), "unit"),
        ValidFile::App(id) => format!("app {id}"),
        ValidFile::Defaults => "defaults for all apps".to_owned(),
    };
    let wrong = match warnings.len() {
        0 => "no problems".to_owned(),
        count => render::count(count, "warning"),
    };
    outln!("{}: {what}, {wrong}", path.display());
    Ok(Exit::DONE)
}

struct Read {
    right: ValidFile,
    warnings: Vec<Problem>,
}

/// The content of a valid file.
enum ValidFile {
    /// The names of the units.
    Units(Vec<String>),
    /// The id of the app.
    App(String),
    Defaults,
}

/// Reads the file as `up` does. A mistake that would put a unit into `error` is a problem here.
fn checked(path: &Path, text: &str) -> Result<Read, Vec<Problem>> {
    let is_json = path.extension().is_some_and(|end| end == "json");
    if is_json && json_kind(path, text) == JsonKind::Defaults {
        let warnings = Vec::new();
        return check_config_json(path, text)
            .map(|()| Read { right: ValidFile::Defaults, warnings });
    }
    let config = file::loaded(path, text)?;
    let broken = config.broken(path);
    if !broken.is_empty() {
        return Err(broken);
    }
    let warnings = config.warnings;
    let mut names: Vec<String> = config.units.into_iter().map(|unit| unit.name).collect();
    let right = match names.pop() {
        Some(id) if is_json => ValidFile::App(id),
        last => ValidFile::Units(names.into_iter().chain(last).collect()),
    };
    Ok(Read { right, warnings })
}

/// Prints every problem with its position, for editors and scripts.
fn print_json(path: &Path, read: Result<Read, Vec<Problem>>) -> Exit {
    let file = path.display().to_string();
    let problems = match read {
        Ok(Read { right, warnings }) => {
            let names = match right {
                ValidFile::Units(names) => names,
                ValidFile::App(id) => vec![id],
                ValidFile::Defaults => Vec::new(),
            };
            let warnings = description(&warnings);
            outln!("{}", json!({ "ok": true, "file": file, "units": names, "warnings": warnings }));
            return Exit::DONE;
        }
        Err(problems) => problems,
    };
    outln!("{}", json!({ "ok": false, "file": file, "problems": description(&problems) }));
    Exit::USAGE
}

fn description(problems: &[Problem]) -> Vec<Value> {
    let description = problems.iter().map(|problem| {
        let place = problem.place.as_ref();
        json!({
            "file": problem.file.display().to_string(),
            "line": place.map(|place| place.line),
            "column": place.map(|place| place.column),
            "width": place.map(|place| place.width),
            "message": problem.message,
            "hint": problem.hint,
        })
    });
    description.collect()
}
