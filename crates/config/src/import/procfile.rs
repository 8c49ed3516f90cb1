//! Procfile: `name: command` lines, as foreman reads them.

use super::draft::{CommandText, Draft};
use super::shell_words::without_shell;
use super::{ImportedUnits, Source};
use crate::problem::Problem;

/// Foreman gives each process type its own port.
const FIRST_PORT: usize = 5_000;
const NEXT_PORT: usize = 100;

pub(super) fn read(source: &Source<'_>) -> Result<ImportedUnits, Problem> {
    let mut units: Vec<Draft> = Vec::new();
    let mut notes = Vec::new();
    let has_env_file = source.file.with_file_name(".env").is_file();
    for (number, line) in (1..).zip(source.text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((name, command)) = entry(line) else {
            return Err(source.wrong(
                number,
                None,
                "expected name: command",
                "for example web: node web.js",
            ));
        };
        if command.is_empty() {
            return Err(source.wrong(
                number,
                None,
                &format!("{name:?} has no command"),
                "write it after the colon",
            ));
        }
        if units.iter().any(|unit| unit.name == name) {
            return Err(source.wrong(
                number,
                None,
                &format!("{name:?} is defined twice"),
                "remove one of them",
            ));
        }
        let words = without_shell(command);
        let shell = || CommandText::Shell(command.to_owned());
        let mut unit = Draft::new(name.to_owned(), words.map_or_else(shell, CommandText::Words));
        if command.contains("$PORT") || command.contains("${PORT") {
            let port = FIRST_PORT + units.len() * NEXT_PORT;
            unit.env.push(("PORT".to_owned(), port.to_string()));
            notes.push(format!("{name}: PORT is {port}, as in foreman"));
        }
        if has_env_file {
            unit.env_file = Some(".env".to_owned());
        }
        if name == "release" {
            unit.restart.push(("when", "\"never\"".to_owned()));
            notes.push(
                "release: it runs at the same time as the others, not before them; it is not restarted"
                    .to_owned(),
            );
        }
        units.push(unit);
    }
    if has_env_file {
        notes.push("the units use .env; keep ostler.toml in the same folder".to_owned());
    }
    Ok(ImportedUnits { from: "a Procfile", units, notes })
}

/// Splits a line into name and command.
pub(super) fn entry(line: &str) -> Option<(&str, &str)> {
    let (name, command) = line.split_once(':')?;
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    is_name.then(|| (name, command.trim()))
}
