//! Splits command lines.

/// Splits the line if it needs no shell.
pub fn without_shell(line: &str) -> Option<Vec<String>> {
    let first = line.split_whitespace().next()?;
    let needs = |c: char| "$`;&|<>(){}*?[]~#!\n".contains(c);
    if line.contains(needs) || first.contains('=') {
        return None;
    }
    split(line)
}

/// Handles quotes and backslashes like a shell, and nothing else. `None` if a quote is not closed.
pub fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(c) = letters.next() {
        match c {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        end if end == c => break,
                        '\\' if c == '"' => match letters.next()? {
                            escaped @ ('"' | '\\') => word.push(escaped),
                            other => word.extend(['\\', other]),
                        },
                        other => word.push(other),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next()?),
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_parted_as_a_shell_would() {
        let words = |line: &str| split(line).map(|words| words.join("|"));
        assert_eq!(words("a  'b c' \"d \\\"e\"\\ f"), Some("a|b c|d \"e f".to_owned()));
        assert_eq!(words("a ''"), Some("a|".to_owned()));
        assert_eq!(words("a 'b"), None);
        assert_eq!(words("a \\"), None);
        assert_eq!(without_shell("node web.js 'a b'").map(|words| words.len()), Some(3));
        for line in ["node $X", "A=1 node", "a && b", "a > b", "a *.js", ""] {
            assert_eq!(without_shell(line), None, "{line}");
        }
    }
}
