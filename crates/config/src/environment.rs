//! A unit's environment variables: the inherited ones, and those of an `env_file`.

/// Variables inherited by default: almost every program needs them, and none holds a secret.
pub(crate) const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
];

/// Parses `NAME=value` lines. `#` begins a comment; quotes around a value are removed.
pub(crate) fn variables(text: &str) -> Result<Vec<(String, String)>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let wrong = || format!("line {number} is not NAME=value");
        let (name, value) = line.split_once('=').ok_or_else(wrong)?;
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty() || line.contains('\0') {
            return Err(wrong());
        }
        let bare = ['"', '\'']
            .iter()
            .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote))
            .unwrap_or(value);
        found.push((name.to_owned(), bare.to_owned()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_env_file_has_lines_comments_and_quotes() {
        let read = variables("# x\n\nA=1\r\nexport B = \"two words\"\nC='='\nD=\n");
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            read,
            Ok(vec![pair("A", "1"), pair("B", "two words"), pair("C", "="), pair("D", "")])
        );
        assert_eq!(variables("A=1\nwhat is this\n"), Err("line 2 is not NAME=value".to_owned()));
    }
}
