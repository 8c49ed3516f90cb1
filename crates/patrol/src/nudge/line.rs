//! The input line of a program without a profile: whether it holds a text, and whether anything of the text is left in
//! it.

use super::Refusal;
use super::terminal::{Key, Paste, Terminal, Trouble};
use super::text::{tail, visible};
use super::typing::{LOOK_EVERY_MS, Typed, forget_unread, pause};
use ostler_agents::cautious::{self, is_frame_line};
use ostler_model::ScreenText;

/// How long a program may take to show the effect of a key.
const CLEARED_WITHIN_MS: u64 = 300;
/// How long to try to remove a text of many lines.
const CLEARING_MS: u64 = 8_000;

/// The input line, and the text typed into it.
pub(super) struct Line {
    pub(super) before: ScreenText,
    pub(super) typed: Typed,
    pub(super) paste: Paste,
    tail: String,
}

impl Line {
    pub(super) fn new(before: &ScreenText, text: &str, paste: Paste) -> Self {
        let typed = Typed {
            text: text.to_owned(),
            mark: at_cursor(before),
            above: above(before).to_owned(),
        };
        Self { before: before.clone(), tail: tail(text), typed, paste }
    }

    /// For a text that another process left behind.
    pub(super) fn left(typed: &Typed) -> Self {
        let before = ScreenText::default();
        Self { before, tail: tail(&typed.text), typed: typed.clone(), paste: Paste::Plain }
    }

    /// True if the text's end is in the line with the cursor and, before it, in the lines above.
    pub(super) fn holds(&self, look: &ScreenText) -> bool {
        if stand_ins(look) > stand_ins(&self.before) {
            return true;
        }
        let row = usize::from(look.cursor.row);
        let Some(line) = look.lines.get(row) else { return false };
        if self.tail.is_empty() {
            // No character of the text can be recognised: compare with what was there before.
            return at_cursor(look) != self.typed.mark;
        }
        // A long text is wrapped: its end may begin some lines above the cursor.
        let rows = self.tail.chars().count() / usize::from(look.columns.max(20)) + 3;
        let above = &look.lines[row.saturating_sub(rows)..row];
        let ends_with_it = |line: &String| {
            let here = visible([line]);
            let is_wrapped = self.tail.ends_with(&here)
                && visible(above.iter().chain([line])).ends_with(&self.tail);
            !here.is_empty() && (here.ends_with(&self.tail) || is_wrapped)
        };
        // A suggestion may be shown behind the cursor.
        ends_with_it(line) || ends_with_it(&upto(look))
    }

    /// True if typing changed more than the input: a list was filtered, or a menu appeared. Dim lines are hints, and
    /// digits and spinners change by themselves.
    pub(super) fn has_reaction(&self, look: &ScreenText) -> bool {
        let row = usize::from(look.cursor.row);
        let rows = look.lines.len().min(row);
        let is_input = |line: &&String| {
            line.trim().is_empty()
                || self.has_part(unprompted(line))
                || self.has_part(behind(line, &self.typed.mark))
        };
        let most = self.typed.text.len() / usize::from(look.columns.max(20)) + self.lines() + 1;
        let grown = look.lines[..rows].iter().rev().take(most).take_while(is_input).count();
        let others = |look: &ScreenText, from: usize, to: usize| -> Vec<String> {
            let is_bright = look.bright.len() == look.lines.len();
            let lines = if is_bright { &look.bright } else { &look.lines };
            let range = from.min(lines.len())..to.min(lines.len());
            let plain = lines[range].iter().map(|line| crate::screen::letters(line));
            plain.filter(|line| !line.is_empty() && !line.chars().all(cautious::is_frame)).collect()
        };
        let before_row = usize::from(self.before.cursor.row);
        let (above, now) = (others(&self.before, 0, before_row), others(look, 0, row - grown));
        // A text of several rows may push lines off the top.
        let is_same_above = above.ends_with(&now) && above.len() - now.len() <= grown;
        let end = usize::MAX;
        let below = others(&self.before, before_row + 1, end);
        !is_same_above || below != others(look, row + 1, end)
    }

    /// True if the line with the cursor is as before: the same prompt left of the cursor, nothing of the text.
    pub(super) fn is_free_again(&self, look: &ScreenText) -> bool {
        at_cursor(look) == self.typed.mark && !self.holds(look)
    }

    /// True if nothing of the text is left, also not in lines above the cursor that belong to the same input.
    pub(super) fn is_gone(&self, look: &ScreenText) -> bool {
        if !self.is_free_again(look) {
            return false;
        }
        if is_frame_line(&self.typed.above) {
            return is_frame_line(above(look));
        }
        let mark = unframed(&self.typed.mark);
        if !mark.is_empty() {
            // Few programs draw their prompt before each line of a text.
            let line = unframed(above(look));
            return !(line.starts_with(mark) && self.has_part(&line[mark.len()..]));
        }
        without_digits(above(look)) == without_digits(&self.typed.above) || !self.is_above(look)
    }

    /// True if part of the text is left of the cursor.
    pub(super) fn is_shown(&self, look: &ScreenText) -> bool {
        let here = at_cursor(look);
        let rest = here.strip_prefix(&self.typed.mark).unwrap_or(&here);
        self.has_part(rest) || self.is_above(look)
    }

    /// True if a line above the cursor is part of the text. The search stops at a frame line.
    fn is_above(&self, look: &ScreenText) -> bool {
        let rows = self.typed.text.len() / usize::from(look.columns.max(20)) + self.lines() + 2;
        let row = usize::from(look.cursor.row).min(look.lines.len());
        let lines = look.lines[..row].iter().rev().take(rows);
        lines.take_while(|line| !is_frame_line(line)).any(|line| self.has_part(line))
    }

    fn has_part(&self, line: &str) -> bool {
        let part = visible([&line.to_owned()]);
        !part.is_empty() && visible([&self.typed.text]).contains(&part)
    }

    fn lines(&self) -> usize {
        self.typed.text.lines().count()
    }
}

/// The line up to the cursor.
pub(super) fn upto(look: &ScreenText) -> String {
    let line = look.lines.get(usize::from(look.cursor.row)).map_or("", String::as_str);
    cautious::cells(line, usize::from(look.cursor.column))
}

/// The text left of the cursor, without digits, because prompts may count.
fn at_cursor(look: &ScreenText) -> String {
    without_digits(&upto(look)).trim_end().to_owned()
}

/// The line above the cursor's line.
fn above(look: &ScreenText) -> &str {
    let row = usize::from(look.cursor.row).checked_sub(1);
    row.and_then(|row| look.lines.get(row)).map_or("", String::as_str)
}

fn without_digits(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

fn unframed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || cautious::is_frame(c))
}

/// A line without the prompt mark at its beginning.
fn unprompted(line: &str) -> &str {
    unframed(line).trim_start_matches(|c: char| c.is_whitespace() || "$#>%❯›»λ".contains(c))
}

/// The part of a line behind a prompt, which is given without its digits.
fn behind<'a>(line: &'a str, mark: &str) -> &'a str {
    let mut rest = line;
    for wanted in mark.chars() {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        match rest.strip_prefix(wanted) {
            Some(after) => rest = after,
            None => return "",
        }
    }
    rest
}

/// Programs show a long text as `[Pasted text #1 +20 lines]`, `[Pasted Content 4096 chars]` and the like. Returns how
/// many such placeholders there are, and the sum of the numbers in them.
fn stand_ins(look: &ScreenText) -> (usize, u64) {
    let joined = look.lines.join(" ").to_lowercase();
    let words: Vec<&str> = joined
        .match_indices("[paste")
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

/// Removes the text, so that it is not sent later together with another text. Returns the result.
///
/// Ctrl-U empties the whole input in some programs and one line in others. There, Backspace joins the line with the one
/// above, until the input is as it was before the text.
pub(super) fn clear(terminal: &mut dyn Terminal, line: &Line) -> (Refusal, &'static str) {
    const PRESSES: usize = 8;
    forget_unread(terminal);
    if line.lines() <= 1 {
        return clear_line(terminal, line);
    }
    let keys = [Key::KILL_LINE, Key::Backspace];
    let presses = PRESSES + 2 * line.lines();
    let began = ostler_os::mono_ms();
    for key in keys.iter().cycle().take(presses) {
        if ostler_os::mono_ms() - began >= CLEARING_MS {
            break;
        }
        match terminal.press(*key).and_then(|()| is_gone_soon(terminal, line)) {
            Ok(true) => return (Refusal::NotShown, "the line was cleared"),
            Ok(false) => {}
            // The line is gone together with its program.
            Err(Trouble::Gone(_)) => return (Refusal::Gone, "its program has exited"),
            Err(Trouble::Unknown(_)) => break,
        }
    }
    (Refusal::StillThere, LEFT)
}

/// Some programs, such as hidden input, know no Ctrl-U: there Backspace is pressed once for each character.
fn clear_line(terminal: &mut dyn Terminal, line: &Line) -> (Refusal, &'static str) {
    const KILLS: usize = 3;
    /// A longer text is left, and the receipt says so.
    const BACKSPACES_MOST: usize = 400;
    let length = line.typed.text.chars().count();
    let length = if length <= BACKSPACES_MOST { length } else { 0 };
    let all = [Key::Backspace].repeat(length);
    let tries: Vec<&[Key]> = vec![&[Key::KILL_LINE]; KILLS];
    for keys in tries.into_iter().chain([&all[..]]).chain([&[Key::KILL_LINE][..]]) {
        let pressed = keys.iter().try_for_each(|key| terminal.press(*key));
        match pressed.and_then(|()| is_gone_soon(terminal, line)) {
            Ok(true) => return (Refusal::NotShown, "the line was cleared"),
            Ok(false) => {}
            // The line is gone together with its program.
            Err(Trouble::Gone(_)) => return (Refusal::Gone, "its program has exited"),
            Err(Trouble::Unknown(_)) => break,
        }
    }
    (Refusal::StillThere, LEFT)
}

fn is_gone_soon(terminal: &mut dyn Terminal, line: &Line) -> Result<bool, Trouble> {
    /// A look may catch the screen half drawn.
    const LOOKS: usize = 3;
    let began = ostler_os::mono_ms();
    let mut gone = 0;
    while ostler_os::mono_ms() - began < CLEARED_WITHIN_MS {
        gone = if line.is_gone(&terminal.look()?) { gone + 1 } else { 0 };
        if gone == LOOKS {
            return Ok(true);
        }
        pause(LOOK_EVERY_MS);
    }
    Ok(false)
}

const LEFT: &str = "the text may still be in the input line";

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_model::ScreenCursor;

    fn screen(text: &str, row: u16, column: u16) -> ScreenText {
        let cursor = ScreenCursor { row, column, is_visible: true };
        let lines = text.lines().map(str::to_owned).collect();
        ScreenText { lines, cursor, columns: 80, rows: 24, ..ScreenText::default() }
    }

    #[test]
    fn a_suggestion_behind_the_cursor_is_no_part_of_the_text() {
        let line = Line::new(&screen("> ", 0, 2), "look", Paste::Plain);
        assert!(line.holds(&screen("> look", 0, 6)));
        assert!(line.holds(&screen("> look around", 0, 6)));
        assert!(!line.holds(&screen("> other", 0, 7)));
    }

    /// A shell's prompt has words, and a long text wraps below it.
    #[test]
    fn a_text_that_wraps_behind_a_prompt_of_words_is_no_reaction() {
        let before = screen("root@vm1:~/a 2# ", 0, 16);
        let text = "you have pending work, read your mail with the command that the text names";
        let line = Line::new(&before, text, Paste::Bracketed);
        let (first, rest) = text.split_at(64);
        let look = format!("root@vm1:~/a 2# {first}\n{rest}");
        assert!(!line.has_reaction(&screen(&look, 1, 10)));
        let chosen = format!("root@vm1:~/a 2# other\n{rest}");
        assert!(line.has_reaction(&screen(&chosen, 1, 10)));
        assert_eq!(behind("root@vm12:~# ls", "root@vm:~#"), " ls");
        assert_eq!(behind("other", "root@vm:~#"), "");
    }

    #[test]
    fn a_list_that_changes_is_a_reaction_and_a_clock_is_none() {
        let before = screen("deploy\ndelete\n12:01\n> ", 3, 2);
        let line = Line::new(&before, "delete", Paste::Plain);
        assert!(line.has_reaction(&screen("\ndelete\n12:01\n> delete", 3, 8)), "filtered");
        assert!(line.has_reaction(&screen("deploy\ndelete\n12:01\n> delete\n  delete all", 3, 8)));
        assert!(!line.has_reaction(&screen("deploy\ndelete\n12:02\n> delete", 3, 8)));
    }
}
