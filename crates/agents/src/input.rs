//! Finds the input box on a screen.
//!
//! All known programs keep the terminal's cursor inside their box, even while the cursor is hidden. So the box is
//! around the cursor: from the line with the prompt to the last line that is drawn like the box. If the cursor is
//! elsewhere, a cursor that the program draws itself is tried, then the lowest prompt.

use crate::profile::InputTable;
use crate::text::{is_hard_to_draw, is_remainder, letters, plain_letters, same, without_accents};
use ostler_model::ScreenText;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputBox {
    pub top: usize,
    pub bottom: usize,
    /// The typed text, without placeholders; its lines as drawn.
    pub text: String,
    /// How many placeholders for a pasted text it contains.
    pub stand_ins: usize,
}

/// How much of a text is in a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    Nothing,
    /// The whole text and nothing else.
    Exactly,
    /// The end of the text, because the box is too small for more.
    ItsEnd,
    /// A placeholder for a pasted text.
    StandIn,
    /// Another text, or more than the text.
    Other,
}

impl InputBox {
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// True if the box holds nothing but parts of `typed`.
    pub fn is_part_of(&self, typed: &str) -> bool {
        self.stand_ins > 0
            || without_accents(typed).contains(&without_accents(&self.text))
            || (is_hard_to_draw(typed) && is_remainder(&self.text, typed))
    }

    pub fn holds(&self, typed: &str, table: &InputTable) -> Holds {
        /// A shorter end may be the end of many texts.
        const END_LEAST: usize = 80;
        if self.is_empty() {
            return Holds::Nothing;
        }
        let rest = table.pasted.iter().fold(self.text.clone(), |text, p| p.remove_from(&text));
        let (own, shown) = (letters(typed), letters(&rest));
        if self.stand_ins > 0 {
            let is_part =
                own.contains(&shown) || plain_letters(typed).contains(&plain_letters(&rest));
            return if is_part { Holds::StandIn } else { Holds::Other };
        }
        if own == shown || plain_letters(typed) == plain_letters(&rest) || same(typed, &rest) {
            return Holds::Exactly;
        }
        let (own, shown) = (plain_letters(typed), plain_letters(&rest));
        let is_most = shown.chars().count() * 2 + 2 >= own.chars().count();
        if is_hard_to_draw(typed) && is_most && is_remainder(&rest, typed) {
            return Holds::Exactly;
        }
        if shown.len() >= END_LEAST && own.ends_with(&shown) {
            return Holds::ItsEnd;
        }
        Holds::Other
    }
}

/// Returns `None` if no box is on the screen.
pub(crate) fn find(table: &InputTable, screen: &ScreenText) -> Option<InputBox> {
    if table.is_cursor_visible && !screen.cursor.is_visible {
        return None;
    }
    let cursor = usize::from(screen.cursor.row);
    let drawn = screen.inverse.iter().map(|spot| usize::from(spot.row));
    let marked = table
        .first
        .as_ref()
        .and_then(|first| screen.lines.iter().rposition(|line| first.is_match(line)));
    std::iter::once(cursor).chain(drawn).chain(marked).find_map(|row| around(table, screen, row))
}

fn around(table: &InputTable, screen: &ScreenText, row: usize) -> Option<InputBox> {
    let lines = &screen.lines;
    let is_part = |row: usize| {
        lines.get(row).is_some_and(|line| {
            table.next.is_match(line) && !table.not.iter().any(|not| not.is_match(line))
        })
    };
    let is_first = |row: usize| {
        table.first.as_ref().is_some_and(|first| {
            let above = row.checked_sub(1).and_then(|row| lines.get(row));
            first.is_match(&lines[row])
                && table
                    .above
                    .as_ref()
                    .is_none_or(|pattern| above.is_some_and(|line| pattern.is_match(line)))
        })
    };
    lines.get(row)?;
    let mut top = row;
    if table.first.is_some() {
        while !is_first(top) {
            // An empty line inside a text is drawn without its indent.
            let is_inside = is_part(top) || lines[top].trim().is_empty();
            top = top.checked_sub(1).filter(|_| is_inside)?;
        }
    } else {
        if !is_part(row) {
            return None;
        }
        while top > 0 && is_part(top - 1) {
            top -= 1;
        }
        let above = top.checked_sub(1).and_then(|row| lines.get(row));
        let is_below = |pattern: &crate::Pattern| above.is_some_and(|line| pattern.is_match(line));
        if !table.above.as_ref().is_none_or(is_below) {
            return None;
        }
    }
    let mut bottom = row;
    while is_part(bottom + 1) {
        bottom += 1;
    }
    let is_closed = |pattern: &crate::Pattern| {
        let next = lines.iter().skip(bottom + 1).take(2);
        next.into_iter().any(|line| pattern.is_match(line))
    };
    if table.below.as_ref().is_some_and(|below| !is_closed(below)) {
        return None;
    }
    let content = |source: &[String], row: usize| {
        let line = source.get(row).map_or("", String::as_str);
        let whole = lines[row].as_str();
        let begin = match (row == top, &table.first) {
            (true, Some(first)) => first,
            _ => &table.next,
        };
        // A dim prompt is blank in the bright line, so as many characters are cut as the prompt has in the whole line.
        let cut = begin.after(whole).map_or(0, |rest| whole.chars().count() - rest.chars().count());
        line.chars().skip(cut).collect::<String>().trim_end().to_owned()
    };
    let read = |source: &[String]| {
        let rows: Vec<String> = (top..=bottom).map(|row| content(source, row)).collect();
        rows.join("\n").trim_matches('\n').to_owned()
    };
    let whole = read(lines);
    let is_placeholder = table.placeholders.iter().any(|pattern| pattern.is_match(whole.trim()));
    let text = match (is_placeholder, screen.bright.is_empty()) {
        (true, _) => String::new(),
        (false, true) => whole,
        (false, false) => read(&screen.bright),
    };
    let stand_ins = table.pasted.iter().filter(|pattern| pattern.is_match(&text)).count();
    Some(InputBox { top, bottom, text, stand_ins })
}
