//! The syntax of supervisord.conf: sections, `key = value`, indented continuation lines, comments.

use super::Source;
use crate::problem::Problem;

pub struct Section {
    /// `program:web`
    pub name: String,
    pub line: usize,
    pub entries: Vec<Entry>,
}

pub struct Entry {
    pub key: String,
    pub value: String,
    pub line: usize,
}

impl Section {
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

pub(super) fn sections(source: &Source<'_>) -> Result<Vec<Section>, Problem> {
    let mut sections: Vec<Section> = Vec::new();
    for (number, whole) in (1..).zip(source.text.lines()) {
        let line = without_comment(whole);
        let content = line.trim();
        if content.is_empty() {
            continue;
        }
        if let Some(rest) = content.strip_prefix('[') {
            let Some(name) = rest.strip_suffix(']') else {
                return Err(source.wrong(
                    number,
                    None,
                    "the bracket is not closed",
                    "add ] at the end of this line",
                ));
            };
            let name = name.trim().to_owned();
            if let Some(first) = sections.iter().find(|section| section.name == name) {
                let description = format!("[{name}] is defined twice");
                let hint = format!("first defined on line {}", first.line);
                return Err(source.wrong(number, None, &description, &hint));
            }
            sections.push(Section { name, line: number, entries: Vec::new() });
            continue;
        }
        let Some(section) = sections.last_mut() else {
            return Err(source.wrong(
                number,
                None,
                "this line is outside of any section",
                "write [program:NAME] above it",
            ));
        };
        if line.starts_with([' ', '\t'])
            && let Some(last) = section.entries.last_mut()
        {
            last.value.push('\n');
            last.value.push_str(content);
            continue;
        }
        let Some((key, value)) = content.split_once(['=', ':']) else {
            return Err(source.wrong(
                number,
                None,
                "expected key = value",
                "indent a line that continues a value",
            ));
        };
        let (key, value) = (key.trim().to_lowercase(), value.trim().to_owned());
        section.entries.retain(|entry| entry.key != key);
        section.entries.push(Entry { key, value, line: number });
    }
    Ok(sections)
}

/// `;` and `#` at the beginning of a line, and `;` after a space.
fn without_comment(line: &str) -> &str {
    if line.starts_with([';', '#']) || line.trim_start().starts_with([';', '#']) {
        return "";
    }
    let end = [" ;", "\t;"].iter().filter_map(|sign| line.find(sign)).min();
    &line[..end.unwrap_or(line.len())]
}
