use super::file;
use crate::args::CheckArguments;
use crate::exit::{Exit, Failure};
use crate::render;
use crate::say::say;
use ostler_config::load;
use serde_json::{Value, json};
use std::path::Path;

/// Reads the file and says whether it is right; starts nothing.
pub fn check(arguments: &CheckArguments) -> Result<Exit, Failure> {
    if arguments.schema {
        say!("{}", ostler_config::schema().trim_end());
        return Ok(Exit::DONE);
    }
    let path = file::find(arguments.file.as_deref())?;
    if arguments.json {
        return check_json(&path);
    }
    let config = file::read(&path)?;
    say!("{}: {}, nothing wrong", path.display(), render::count(config.units.len(), "unit"));
    Ok(Exit::DONE)
}

/// For editors and scripts: every problem with its place.
fn check_json(path: &Path) -> Result<Exit, Failure> {
    let read = file::text(path)?.and_then(|text| load(path, &text, &file::circumstances()));
    let file = path.display().to_string();
    let problems = match read {
        Ok(config) => {
            let names: Vec<&str> = config.units.iter().map(|unit| unit.name.as_str()).collect();
            say!("{}", json!({ "ok": true, "file": file, "units": names }));
            return Ok(Exit::DONE);
        }
        Err(problems) => problems,
    };
    let told: Vec<Value> = problems
        .iter()
        .map(|problem| {
            let place = problem.place.as_ref();
            json!({
                "line": place.map(|place| place.line),
                "column": place.map(|place| place.column),
                "width": place.map(|place| place.width),
                "message": problem.message,
                "hint": problem.hint,
            })
        })
        .collect();
    say!("{}", json!({ "ok": false, "file": file, "problems": told }));
    Ok(Exit::USAGE)
}
