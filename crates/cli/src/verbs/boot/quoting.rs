//! Quoting of paths and values for unit files, crontabs and property lists.

use super::tool::failed;
use crate::exit::Failure;
use std::fmt::Write;

/// One word of a unit file: in quotes, with specifiers escaped.
pub fn unit_word(text: &str) -> String {
    let mut word = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => word.extend(['\\', character]),
            '%' => word.push_str("%%"),
            // The numeric escape can neither end the line nor be read as space.
            control if control.is_ascii_control() => {
                let _ = write!(word, "\\x{:02x}", control as u32);
            }
            other => word.push(other),
        }
    }
    word.push('"');
    word
}

/// The command line of `ExecStart`. systemd accepts no quotes and backslashes in a program path, so such a program is
/// started by a shell. The colon disables variable expansion.
pub fn unit_command(program: &str, verb: &str) -> String {
    let is_odd = |character: char| "\"'\\".contains(character) || character.is_ascii_control();
    if program.contains(is_odd) {
        let script = unit_word(&format!("exec \"$0\" {verb}"));
        return format!(":/bin/sh -c {script} {}", unit_word(program));
    }
    format!(":{} {verb}", unit_word(program))
}

/// One word of a crontab command, which cron and then a shell parse.
pub fn cron_word(text: &str) -> Result<String, Failure> {
    if text.contains(['\n', '\r', '\0']) {
        return Err(failed(format!(
            "{text:?} cannot be written into a crontab: it contains a line break"
        )));
    }
    // For cron an unescaped `%` ends the command. A backslash in the path directly before `\%` would break the escape,
    // so an empty shell word ('') separates them.
    let word = text.replace('\'', r"'\''").replace('%', r"''\%");
    Ok(format!("'{word}'"))
}

/// Text between the tags of a property list.
pub fn xml_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D11: special characters in a path have no effect.
    #[test]
    fn paths_are_quoted_for_each_init_system() {
        assert_eq!(unit_word(r#"/a b%c"d\e"#), r#""/a b%%c\"d\\e""#);
        assert_eq!(unit_word("/a\nb"), r#""/a\x0ab""#);
        assert_eq!(unit_command("/a $b/ostler", "supervisor"), r#":"/a $b/ostler" supervisor"#);
        assert_eq!(
            unit_command("/it's/ostler", "supervisor"),
            r#":/bin/sh -c "exec \"$0\" supervisor" "/it's/ostler""#
        );
        assert_eq!(xml_text("/a&b<c>"), "/a&amp;b&lt;c&gt;");
        let word = |text| cron_word(text).expect("one line");
        assert_eq!(word("/it's 5%"), r"'/it'\''s 5''\%'");
        assert!(cron_word("/a\nb").is_err());
    }
}
