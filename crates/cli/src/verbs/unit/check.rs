use super::file;
use crate::args::CheckArguments;
use crate::exit::{Exit, Failure};
use crate::render;
use crate::say::say;
use serde_json::json;

/// Reads the file and says whether it is right; starts nothing.
pub fn check(arguments: &CheckArguments) -> Result<Exit, Failure> {
    if arguments.schema {
        say!("{}", ostler_config::schema().trim_end());
        return Ok(Exit::DONE);
    }
    let path = file::find(arguments.file.as_deref())?;
    let config = file::read(&path)?;
    if arguments.json {
        let names: Vec<&str> = config.units.iter().map(|unit| unit.name.as_str()).collect();
        say!("{}", json!({ "ok": true, "file": path.display().to_string(), "units": names }));
    } else {
        say!("{}: {}, nothing wrong", path.display(), render::count(config.units.len(), "unit"));
    }
    Ok(Exit::DONE)
}
