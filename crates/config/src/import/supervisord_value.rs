//! Values of supervisord.conf: expands `%(name)s`, and splits lists of variables.

/// The names that `%(…)s` may use.
pub struct Names<'a> {
    pub here: &'a str,
    pub program: &'a str,
    pub number: u64,
    pub copies: u64,
}

const BEGIN: char = '\u{1}';
const END: char = '\u{2}';

#[derive(Debug, PartialEq, Eq)]
pub struct Expanded {
    /// Each environment variable is enclosed in `BEGIN` and `END`.
    pub text: String,
    /// Variables that only a shell can insert.
    pub asks_for: Vec<String>,
}

pub fn expand(value: &str, names: &Names<'_>) -> Result<Expanded, String> {
    let mut text = String::new();
    let mut asks_for = Vec::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('%') {
        text.push_str(before);
        if let Some(after) = after.strip_prefix('%') {
            text.push('%');
            rest = after;
            continue;
        }
        let wrong = || format!("single % in {value:?}: write %%");
        let (name, after) =
            after.strip_prefix('(').and_then(|after| after.split_once(')')).ok_or_else(wrong)?;
        let end = after.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let (width, after) = after.split_at(end);
        let mut letters = after.chars();
        if !matches!(letters.next(), Some('s' | 'd')) {
            return Err(wrong());
        }
        rest = letters.as_str();
        let found = match name {
            "here" => names.here.to_owned(),
            "program_name" | "group_name" => names.program.to_owned(),
            "process_num" => names.number.to_string(),
            "numprocs" => names.copies.to_string(),
            _ => match name.strip_prefix("ENV_") {
                Some(variable) if is_variable(variable) => {
                    asks_for.push(variable.to_owned());
                    format!("{BEGIN}{variable}{END}")
                }
                _ => return Err(format!("%({name})s is not known")),
            },
        };
        let fill = if width.starts_with('0') { '0' } else { ' ' };
        let least = width.parse::<usize>().unwrap_or(0).min(64);
        let missing = least.saturating_sub(found.chars().count());
        text.extend(std::iter::repeat_n(fill, missing));
        text.push_str(&found);
    }
    text.push_str(rest);
    Ok(Expanded { text, asks_for })
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Quotes a word for the shell, so that the shell inserts only the marked variables.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@,+%".contains(c);
    let literal = |text: &str| {
        if text.chars().all(is_plain) {
            text.to_owned()
        } else {
            format!("'{}'", text.replace('\'', "'\\''"))
        }
    };
    let mut parts = word.split(BEGIN);
    let mut shell = literal(parts.next().unwrap_or_default());
    for part in parts {
        let (variable, rest) = part.split_once(END).unwrap_or((part, ""));
        shell.push_str(&format!("\"${{{variable}}}\""));
        shell.push_str(&literal(rest));
    }
    if shell.is_empty() { "''".to_owned() } else { shell }
}

/// `A="1",B=2`; newlines may separate the entries.
pub fn variables(value: &str) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut rest = value.trim();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let (value, after) = match after.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let (value, after) = after[1..].split_once(quote)?;
                (value, after.trim_start())
            }
            _ => {
                let end = after.find([',', '\n']).unwrap_or(after.len());
                (after[..end].trim(), &after[end..])
            }
        };
        let name = name.trim();
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == ',') {
            return None;
        }
        found.retain(|(other, _)| other != name);
        found.push((name.to_owned(), value.to_owned()));
        if !after.is_empty() && !after.starts_with([',', '\n']) {
            return None;
        }
        rest = after.trim_start_matches([',', '\n', ' ', '\t']);
    }
    Some(found)
}

/// `true`, `yes`, `1`, `on`, and their opposites.
pub fn truth(word: &str) -> Option<bool> {
    match word.to_lowercase().as_str() {
        "true" | "yes" | "1" | "on" | "t" | "y" => Some(true),
        "false" | "no" | "0" | "off" | "f" | "n" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: Names<'_> = Names { here: "/etc/s", program: "web", number: 3, copies: 4 };

    #[test]
    fn variables_of_supervisord_are_expanded() {
        let text = |value: &str| expand(value, &NAMES).map(|expanded| expanded.text);
        assert_eq!(
            text("%(here)s/%(program_name)s_%(process_num)02d 100%%"),
            Ok("/etc/s/web_03 100%".into())
        );
        let shell = |value: &str| text(value).map(|text| shell_word(&text));
        assert_eq!(shell("a $b%(ENV_HOME)s/x"), Ok("'a $b'\"${HOME}\"/x".into()));
        for wrong in ["50%", "%(here)", "%(here)x", "%(nobody)s", "%(ENV_)s", "%("] {
            assert!(expand(wrong, &NAMES).is_err(), "{wrong}");
        }
    }

    #[test]
    fn variables_are_parted() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            variables("A=\"1, 2\",B='x',\nC=plain text,"),
            Some(vec![pair("A", "1, 2"), pair("B", "x"), pair("C", "plain text")])
        );
        assert_eq!(variables(""), Some(vec![]));
        for wrong in ["A", "A=\"1", "=1", "A=\"1\" B=2"] {
            assert_eq!(variables(wrong), None, "{wrong}");
        }
    }
}
