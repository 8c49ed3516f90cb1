//! Imports a Procfile, pm2's ecosystem JSON, or a supervisord.conf. A setting without an equivalent here becomes a
//! note; it is never dropped silently.

mod draft;
mod pm2;
mod pm2_app;
mod procfile;
mod shell_words;
mod supervisord;
mod supervisord_file;
mod supervisord_value;

use crate::findings::place;
use crate::load::{ReadContext, load};
use crate::problem::Problem;
use draft::Draft;
use std::path::Path;

/// The text of an ostler.toml, and notes for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    pub toml: String,
    pub notes: Vec<String>,
}

/// The result of a format's reader.
struct ImportedUnits {
    from: &'static str,
    units: Vec<Draft>,
    notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Procfile,
    Pm2,
    Supervisord,
}

/// Reads another tool's file.
pub fn import(file: &Path, text: &str) -> Result<Imported, Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let source = Source { file, text };
    let taken = match kind(&source)? {
        Kind::Procfile => procfile::read(&source)?,
        Kind::Pm2 => pm2::read(&source)?,
        Kind::Supervisord => supervisord::read(&source)?,
    };
    if taken.units.is_empty() {
        return Err(source.problem("the file defines no program", ""));
    }
    let ImportedUnits { from, mut units, mut notes } = taken;
    draft::settle_names(&mut units, &mut notes);
    let toml = draft::write(from, &units);
    // Check the result now, so that `ostler up` reports nothing new.
    let beside = file.with_file_name("ostler.toml");
    for problem in load(&beside, &toml, &ReadContext::default()).err().into_iter().flatten() {
        let hint = problem.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
        notes.push(format!("to be corrected: {}{hint}", problem.message));
    }
    Ok(Imported { toml, notes })
}

fn kind(source: &Source<'_>) -> Result<Kind, Problem> {
    let name = source.file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let begin = source.text.trim_start();
    let has_section =
        |name: &str| source.text.lines().any(|line| line.trim_start().starts_with(name));
    if name.ends_with(".js") || name.ends_with(".cjs") || begin.contains("module.exports") {
        let hint = format!(
            "convert it to JSON with Node: node -p 'JSON.stringify(require(\"./{name}\"))' > ecosystem.json"
        );
        return Err(source.problem("the file is a JavaScript program", &hint));
    }
    if name.ends_with(".yml") || name.ends_with(".yaml") {
        return Err(source.problem(
            "YAML is not supported",
            "supported: a Procfile, pm2's ecosystem as JSON, or a supervisord.conf",
        ));
    }
    if name.starts_with("procfile") {
        return Ok(Kind::Procfile);
    }
    if has_section("[program:") || has_section("[supervisord]") {
        return Ok(Kind::Supervisord);
    }
    if begin.starts_with('{') || name.ends_with(".json") {
        return Ok(Kind::Pm2);
    }
    if begin.starts_with('[') && begin[1..].trim_start().starts_with('{') {
        return Ok(Kind::Pm2);
    }
    if name.ends_with(".conf") || name.ends_with(".ini") {
        return Ok(Kind::Supervisord);
    }
    if source.text.lines().any(|line| procfile::entry(line).is_some()) {
        return Ok(Kind::Procfile);
    }
    Err(source.problem(
        "the format of the file is unknown",
        "supported: a Procfile, pm2's ecosystem as JSON, or a supervisord.conf",
    ))
}

struct Source<'a> {
    file: &'a Path,
    text: &'a str,
}

impl Source<'_> {
    fn problem(&self, message: &str, hint: &str) -> Problem {
        Problem {
            file: self.file.to_owned(),
            place: None,
            message: message.to_owned(),
            hint: Some(hint.to_owned()).filter(|hint| !hint.is_empty()),
        }
    }

    /// Lines and columns are counted from 1; the column may be unknown.
    fn wrong(&self, line: usize, column: Option<usize>, message: &str, hint: &str) -> Problem {
        let begin: usize = self.text.split_inclusive('\n').take(line - 1).map(str::len).sum();
        let content = self.text[begin..].lines().next().unwrap_or_default();
        let span = match column {
            Some(column) => {
                let at = begin + column.saturating_sub(1).min(content.len());
                at..at + 1
            }
            None => {
                let indent = content.len() - content.trim_start().len();
                begin + indent..begin + content.trim_end().len().max(indent)
            }
        };
        Problem { place: Some(place(self.text, span)), ..self.problem(message, hint) }
    }

    fn folder(&self) -> String {
        let folder = self.file.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new(".")).display().to_string()
    }
}
