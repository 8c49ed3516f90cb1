//! What two looks at a screen tell.

use super::terminal::Look;
use super::text::visible;
use crate::screen::digest;

/// Whether a text that was typed is on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    No,
    /// Something changed, and the text has nothing in it that could be looked for.
    Perhaps,
    /// Its end is, or a word that stands for it.
    Yes,
}

pub fn shown(before: &Look, now: &Look, tail: &str) -> Shown {
    if before.lines == now.lines && before.cursor == now.cursor {
        return Shown::No;
    }
    if tail.is_empty() {
        return Shown::Perhaps;
    }
    let changed: Vec<&String> = now
        .lines
        .iter()
        .enumerate()
        .filter(|(at, line)| before.lines.get(*at) != Some(line))
        .map(|(_, line)| line)
        .collect();
    let (old, new) = (visible(&before.lines), visible(&now.lines));
    let is_new = new.matches(tail).count() > old.matches(tail).count();
    if is_new
        || visible(changed).contains(tail)
        || stands_for_pastes(now) > stands_for_pastes(before)
    {
        return Shown::Yes;
    }
    Shown::No
}

/// Programs show a long text as `[Pasted text #1 +20 lines]`, `[Pasted Content 4096 chars]` and the like: the sum of the
/// numbers in such words, and how many there are.
fn stands_for_pastes(look: &Look) -> (usize, u64) {
    let joined = look.lines.join(" ").to_lowercase();
    let words: Vec<&str> = joined
        .match_indices("[pasted ")
        .filter_map(|(at, _)| joined[at..].split_once(']').map(|(word, _)| word))
        .filter(|word| word.len() < 80 && word.contains(|c: char| c.is_ascii_digit()))
        .collect();
    let number = |digits: &str| digits.parse::<u64>().unwrap_or(0);
    let sum = words
        .iter()
        .flat_map(|word| word.split(|c: char| !c.is_ascii_digit()))
        .fold(0u64, |sum, digits| sum.saturating_add(number(digits)));
    (words.len(), sum)
}

/// Enter was taken: what stood where the cursor is does not stand there any more. Where no cursor is to be seen, anything
/// else on the screen than clocks and spinners has changed.
pub fn is_taken(before: &Look, now: &Look) -> bool {
    match (before.cursor, now.cursor) {
        (Some(was), Some(is)) if was.is_visible && is.is_visible => {
            was != is || before.lines.get(was.row) != now.lines.get(was.row)
        }
        _ => digest(&before.lines) != digest(&now.lines),
    }
}

/// It ends where the cursor is.
pub fn stands_in_line(look: &Look, tail: &str) -> bool {
    let cursor = look.cursor.filter(|cursor| cursor.is_visible);
    let Some(line) = cursor.and_then(|cursor| look.lines.get(cursor.row)) else { return false };
    let line = visible([line]);
    !line.is_empty() && (line.ends_with(tail) || tail.ends_with(&line))
}

/// Nothing happens there.
pub fn is_quiet(before: &Look, now: &Look) -> bool {
    let is_still = match (before.cursor, now.cursor) {
        (Some(was), Some(is)) if was.is_visible && is.is_visible => was == is,
        _ => true,
    };
    is_still && digest(&before.lines) == digest(&now.lines)
}

/// Why nothing should be typed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It says that it works.
    Works,
    /// It waits for an answer to a question of its own, and would take anything for that.
    Asks,
    /// Somebody has begun to type.
    Begun,
}

impl Obstacle {
    pub fn told(self) -> &'static str {
        match self {
            Obstacle::Works => "it works and shows how to interrupt it",
            Obstacle::Asks => "it shows a menu or a question, which the text would answer",
            Obstacle::Begun => "somebody has begun to type there",
        }
    }
}

const WORKING: [&str; 4] =
    ["esc to interrupt", "esc interrupt", "ctrl+c to interrupt", "ctrl-c to interrupt"];
const ASKING: [&str; 5] = ["(y/n)", "[y/n]", "(yes/no)", "[yes/no]", "esc to cancel"];

pub fn obstacle(look: &Look) -> Option<Obstacle> {
    const LOOKED_AT: usize = 20;
    let filled: Vec<String> = look
        .lines
        .iter()
        .map(|line| line.trim_matches(|c: char| c.is_whitespace() || is_frame(c)).to_lowercase())
        .filter(|line| !line.is_empty())
        .collect();
    let bottom = &filled[filled.len().saturating_sub(LOOKED_AT)..];
    let says = |words: &[&str], lines: &[String]| {
        lines.iter().any(|line| words.iter().any(|word| line.contains(word)))
    };
    let last = &bottom[bottom.len().saturating_sub(2)..];
    if is_menu(bottom) || says(&ASKING, last) {
        return Some(Obstacle::Asks);
    }
    if says(&WORKING, bottom) {
        return Some(Obstacle::Works);
    }
    has_begun(look).then_some(Obstacle::Begun)
}

fn is_frame(c: char) -> bool {
    ('\u{2500}'..='\u{257f}').contains(&c) || c == '|'
}

/// Numbered choices, one of which is pointed at.
fn is_menu(lines: &[String]) -> bool {
    let is_choice = |line: &str| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < line.len() && rest.starts_with(['.', ')'])
    };
    let pointed = |line: &String| {
        let rest = line.strip_prefix(['❯', '>', '›', '→', '▶', '●']);
        rest.is_some_and(|rest| is_choice(rest.trim_start()))
    };
    lines.iter().any(pointed) && lines.iter().any(|line| is_choice(line))
}

/// The cursor's line begins with a prompt of agents, and something stands between that and the cursor.
fn has_begun(look: &Look) -> bool {
    let Some(cursor) = look.cursor.filter(|cursor| cursor.is_visible) else { return false };
    let Some(line) = look.lines.get(cursor.row) else { return false };
    let typed: String = line.chars().take(cursor.column).collect();
    let typed = typed.trim_start_matches(|c: char| c.is_whitespace() || is_frame(c));
    let after =
        typed.strip_prefix(['❯', '>', '›']).and_then(|rest| rest.strip_prefix([' ', '\u{a0}']));
    after.is_some_and(|rest| !rest.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::terminal::Cursor;
    use super::*;

    fn look(text: &str, row: usize, column: usize) -> Look {
        let cursor = Some(Cursor { row, column, is_visible: true });
        Look { lines: text.lines().map(str::to_owned).collect(), cursor }
    }

    #[test]
    fn a_text_is_shown_if_its_end_is_new_on_the_screen() {
        let before = look("> ok\n> \n", 1, 2);
        assert_eq!(shown(&before, &before, "ok"), Shown::No);
        assert_eq!(shown(&before, &look("> ok\n> ok\n", 1, 4), "ok"), Shown::Yes);
        assert_eq!(shown(&before, &look("> ok\n> ***\n", 1, 5), "ok"), Shown::No);
        assert_eq!(shown(&before, &look("> ok\n> 🎉\n", 1, 4), ""), Shown::Perhaps);
        let collapsed = look("> ok\n> [Pasted text #1 +20 lines]\n", 1, 30);
        assert_eq!(shown(&before, &collapsed, "theend"), Shown::Yes);
        assert_eq!(shown(&collapsed, &collapsed, "theend"), Shown::No);
    }

    #[test]
    fn enter_was_taken_if_the_line_of_the_cursor_is_another() {
        let typed = look("12:01\n> hello\n", 1, 7);
        assert!(!is_taken(&typed, &look("12:02\n> hello\n", 1, 7)), "a clock is no answer");
        assert!(is_taken(&typed, &look("12:01\n> hello\n> \n", 2, 2)));
        assert!(is_taken(&typed, &look("hello\n> \n", 1, 2)));
        let without = |text: &str| Look { cursor: None, ..look(text, 0, 0) };
        assert!(!is_taken(&without("⠋ 1s\n> hello"), &without("⠙ 2s\n> hello")));
        assert!(is_taken(&without("⠋ 1s\n> hello"), &without("⠙ 2s\n> ")));
    }

    #[test]
    fn a_text_stands_in_the_line_if_it_ends_at_the_cursor() {
        assert!(stands_in_line(&look("> hello\n", 0, 7), "hello"));
        assert!(stands_in_line(&look("> hel\n  lo\n", 1, 4), "hello"));
        assert!(!stands_in_line(&look("> hello\n> \n", 1, 2), "hello"));
        assert!(!stands_in_line(&look("> help\n", 0, 6), "hello"));
    }

    #[test]
    fn what_works_asks_or_is_being_typed_into_is_left_alone() {
        let works = look("✻ Thinking… (12s · esc to interrupt)\n\n│ >   │\n", 2, 4);
        assert_eq!(obstacle(&works), Some(Obstacle::Works));
        let asks = look("Do you want to proceed?\n│ ❯ 1. Yes │\n│   2. No │\n", 1, 0);
        assert_eq!(obstacle(&asks), Some(Obstacle::Asks));
        assert_eq!(obstacle(&look("Overwrite? [Y/n] ", 0, 17)), Some(Obstacle::Asks));
        let begun = look("❯ half a sen", 0, 12);
        assert_eq!(obstacle(&begun), Some(Obstacle::Begun));
        for free in ["❯ ", "user@host:~$ ", "│ > Try something │", "1. one\n2. two\n$ "] {
            let row = free.lines().count() - 1;
            assert_eq!(obstacle(&look(free, row, 4.min(free.len()))), None, "{free}");
        }
    }
}
