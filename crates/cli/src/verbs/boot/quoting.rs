//! Paths and values as they must be written so that others read them as they are.

use super::tool::failed;
use crate::exit::Failure;
use std::fmt::Write;

/// One word of a unit file: between quotes, and without a meaning to the specifiers.
pub fn unit_word(text: &str) -> String {
    let mut word = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => word.extend(['\\', character]),
            '%' => word.push_str("%%"),
            // Written as its number, it can neither end the line nor be taken for space.
            control if control.is_ascii_control() => {
                let _ = write!(word, "\\x{:02x}", control as u32);
            }
            other => word.push(other),
        }
    }
    word.push('"');
    word
}

/// The line that systemd executes. It takes no quotes and no backslashes in a program's name, but in the
/// arguments of a shell. The colon keeps it from looking for variables.
pub fn unit_command(program: &str, verb: &str) -> String {
    let is_odd = |character: char| "\"'\\".contains(character) || character.is_ascii_control();
    if program.contains(is_odd) {
        let script = unit_word(&format!("exec \"$0\" {verb}"));
        return format!(":/bin/sh -c {script} {}", unit_word(program));
    }
    format!(":{} {verb}", unit_word(program))
}

/// One word of a command in a crontab, which goes through cron and then through a shell.
pub fn cron_word(text: &str) -> Result<String, Failure> {
    if text.contains(['\n', '\r', '\0']) {
        return Err(failed(format!(
            "{text:?} cannot stand in a crontab: it is more than one line"
        )));
    }
    // cron takes `%` for the end of the command unless a backslash stands before it, and a backslash
    // before that one would take its meaning: the shell's empty word keeps the two apart.
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

    /// D11: whatever stands in a path means itself.
    #[test]
    fn paths_mean_themselves() {
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
