//! The kinds of answers: a key, a letter, or a text.

/// A key that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Enter,
    Escape,
    Up,
    Down,
    Left,
    Right,
    Tab,
    Space,
    /// Ctrl-U: removes what is typed of a line.
    ClearLine,
}

const NAMES: [(&str, Key); 9] = [
    ("enter", Key::Enter),
    ("escape", Key::Escape),
    ("esc", Key::Escape),
    ("up", Key::Up),
    ("down", Key::Down),
    ("left", Key::Left),
    ("right", Key::Right),
    ("tab", Key::Tab),
    ("space", Key::Space),
];

impl Key {
    /// The name of the key in tmux.
    pub fn name(self) -> &'static str {
        match self {
            Key::Enter => "Enter",
            Key::Escape => "Escape",
            Key::Up => "Up",
            Key::Down => "Down",
            Key::Left => "Left",
            Key::Right => "Right",
            Key::Tab => "Tab",
            Key::Space => "Space",
            Key::ClearLine => "C-u",
        }
    }

    /// The bytes that a terminal sends for the key.
    pub fn bytes(self, application_cursor: bool) -> &'static [u8] {
        match (self, application_cursor) {
            (Key::Enter, _) => b"\r",
            (Key::Escape, _) => b"\x1b",
            (Key::Tab, _) => b"\t",
            (Key::Space, _) => b" ",
            (Key::ClearLine, _) => b"\x15",
            (Key::Up, false) => b"\x1b[A",
            (Key::Down, false) => b"\x1b[B",
            (Key::Right, false) => b"\x1b[C",
            (Key::Left, false) => b"\x1b[D",
            (Key::Up, true) => b"\x1bOA",
            (Key::Down, true) => b"\x1bOB",
            (Key::Right, true) => b"\x1bOC",
            (Key::Left, true) => b"\x1bOD",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Key(Key),
    Letter(char),
    /// Typed, followed by Enter.
    Text(String),
    /// A choice without a number: the selection is moved to it, then Enter.
    Choice(String),
    /// Typed where the terminal does not show it, followed by Enter. `Debug` and the journal never have the text.
    Hidden(Secret),
}

/// A text that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Answer {
    pub fn parse(word: &str, is_text: bool) -> Result<Self, String> {
        if word.is_empty() {
            return Err("the answer is empty; `enter` presses Enter".to_owned());
        }
        if word.chars().any(char::is_control) {
            return Err(
                "the answer contains a line break or another control character; use one line"
                    .to_owned(),
            );
        }
        if is_text {
            return Ok(Answer::Text(word.to_owned()));
        }
        let named = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        if let Some((_, key)) = named {
            return Ok(Answer::Key(*key));
        }
        let mut letters = word.chars();
        match (letters.next(), letters.next()) {
            (Some(letter), None) => Ok(Answer::Letter(letter)),
            _ => Ok(Answer::Text(word.to_owned())),
        }
    }

    /// The answer to a prompt whose input is hidden: only `enter` is a key there, because every other word may be the
    /// password.
    pub fn hidden(word: &str, is_text: bool) -> Self {
        match !is_text && word.eq_ignore_ascii_case("enter") {
            true => Answer::Key(Key::Enter),
            false => Answer::Hidden(Secret(word.to_owned())),
        }
    }

    /// For the journal.
    pub fn description(&self) -> String {
        match self {
            Answer::Key(key) => format!("key {}", key.name()),
            Answer::Letter(letter) => format!("key {letter}"),
            Answer::Text(text) => format!("text of {} characters", text.chars().count()),
            Answer::Choice(words) => format!("choice {words}"),
            Answer::Hidden(_) => "a hidden text".to_owned(),
        }
    }

    /// Whether the answer may only move the selection to another choice.
    pub fn moves(&self) -> bool {
        match self {
            Answer::Key(Key::Enter | Key::Escape | Key::ClearLine)
            | Answer::Text(_)
            | Answer::Choice(_)
            | Answer::Hidden(_) => false,
            Answer::Key(Key::Up | Key::Down | Key::Left | Key::Right | Key::Tab | Key::Space)
            | Answer::Letter(_) => true,
        }
    }

    pub fn is_letter(&self) -> bool {
        matches!(self, Answer::Letter(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_keys_letters_or_texts() {
        let parse = |word: &str| Answer::parse(word, false).expect("an answer");
        assert_eq!(parse("enter"), Answer::Key(Key::Enter));
        assert_eq!(parse("Esc"), Answer::Key(Key::Escape));
        assert_eq!(parse("1"), Answer::Letter('1'));
        assert_eq!(parse("y"), Answer::Letter('y'));
        assert_eq!(parse("é"), Answer::Letter('é'));
        assert_eq!(parse("12"), Answer::Text("12".to_owned()));
        assert_eq!(parse("up there"), Answer::Text("up there".to_owned()));
        assert_eq!(Answer::parse("up", true), Ok(Answer::Text("up".to_owned())));
        for wrong in ["", "a\nb", "\x1b"] {
            assert!(Answer::parse(wrong, false).is_err(), "{wrong:?}");
        }
        let hidden = Answer::hidden("up", false);
        assert_eq!(hidden, Answer::Hidden(Secret("up".to_owned())));
        assert_eq!(Answer::hidden("enter", false), Answer::Key(Key::Enter));
        assert!(!format!("{hidden:?}, {}", hidden.description()).contains("up"));
        assert!(parse("down").moves() && !parse("enter").moves() && !parse("12").moves());
    }
}
