//! Judges programs without a profile. It claims only what is certain: a text waits rather than mixes with another.

use crate::judge::Dialogue;
use crate::profile::DialogKind;
use ostler_model::ScreenText;

/// A longer question is cut.
const QUESTION_MOST: usize = 400;
/// The evidence for a prompt whose input is not shown.
pub const HIDDEN: &str = "its terminal hides what is typed, as for a password";
const ASKING: [&str; 4] = ["yes or no", "y or n", "esc to cancel", "press enter to continue"];
const WORKING: [&str; 5] = [
    "esc to interrupt",
    "esc interrupt",
    "ctrl+c to interrupt",
    "ctrl-c to interrupt",
    "ctrl+c to cancel",
];
/// Prompt characters: a line that ends with one and a blank waits for input. A colon counts only after a bracket, as in
/// `In [1]: `; after words it ends a question, which a person must answer.
const MARKS: [char; 8] = ['$', '#', '>', '%', '❯', '›', '»', 'λ'];

/// Why nothing should be typed now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    Works,
    Asks(Dialogue),
    /// The line with the cursor has text.
    Begun,
}

pub fn obstacle(screen: &ScreenText) -> Option<Obstacle> {
    if let Some(question) = question(screen) {
        return Some(Obstacle::Asks(question));
    }
    if bottom(screen).any(|line| WORKING.iter().any(|mark| line.to_lowercase().contains(mark))) {
        return Some(Obstacle::Works);
    }
    is_begun(screen).then_some(Obstacle::Begun)
}

/// The last non-blank lines, without the frames around them.
fn bottom(screen: &ScreenText) -> impl Iterator<Item = &str> {
    const LOOKED_AT: usize = 20;
    let filled = screen.lines.iter().rev().map(|line| unframed(line));
    filled.filter(|line| !line.is_empty()).take(LOOKED_AT)
}

fn unframed(line: &str) -> &str {
    line.trim_matches(|c: char| c.is_whitespace() || is_frame(c))
}

/// A character that boxes are drawn with.
pub fn is_frame(c: char) -> bool {
    ('\u{2500}'..='\u{259f}').contains(&c) || c == '|'
}

/// A line that only draws: the top or bottom side of a box.
pub fn is_frame_line(line: &str) -> bool {
    const LEAST: usize = 3;
    let drawn = line.trim();
    drawn.chars().count() >= LEAST && drawn.chars().all(|c| is_frame(c) || c == '-' || c == '_')
}

/// The question of a program that reads a line which its terminal does not show, as for a password: the text left of the
/// cursor, or the line above it. A script may hide input only to keep its screen clean, so the text has to end as a prompt
/// does or name a secret.
pub fn hidden_question(screen: &ScreenText) -> Option<Dialogue> {
    const SECRETS: [&str; 6] = ["password", "passphrase", "passcode", "secret", "token", "pin"];
    const ENDS: [char; 8] = [':', '?', '>', '›', '»', '❯', ']', ')'];
    if !screen.hides_input || !screen.cursor.is_visible {
        return None;
    }
    let mut row = usize::from(screen.cursor.row);
    let before = cells(screen.lines.get(row)?, usize::from(screen.cursor.column));
    let mut text = match before.trim() {
        "" => {
            row = screen.lines[..row].iter().rposition(|line| !line.trim().is_empty())?;
            screen.lines[row].trim().to_owned()
        }
        before => before.to_owned(),
    };
    // A long prompt continues over several lines.
    let is_full = |line: &str| width(line) >= usize::from(screen.columns).max(1);
    while let Some(above) = row.checked_sub(1).filter(|row| is_full(&screen.lines[*row])) {
        text.insert_str(0, &screen.lines[above]);
        row = above;
    }
    let text = text.trim();
    let lower = text.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphabetic());
    let is_asked = text.ends_with(ENDS) || words.any(|word| SECRETS.contains(&word));
    let text = joined(&[text.to_owned()]);
    is_asked.then(|| Dialogue { kind: DialogKind::Question, text, choices: Vec::new() })
}

/// A list of choices with one selected, or a yes/no question at the bottom.
pub fn question(screen: &ScreenText) -> Option<Dialogue> {
    if screen.hides_input {
        return hidden_question(screen);
    }
    let lines: Vec<&str> = bottom(screen).collect();
    let list = numbered_list(&screen.lines, lines.len());
    let is_list = list.len() > 1;
    let is_asked = lines.iter().take(2).any(|line| asking_end(line).is_some());
    if !is_list && let Some(text) = prompt_question(screen) {
        if let Some(question) = plain_question(screen) {
            return Some(question);
        }
        return Some(Dialogue { kind: DialogKind::Question, text, choices: Vec::new() });
    }
    if !is_list && !is_asked {
        return plain_question(screen);
    }
    let text: Vec<String> = match list.first().filter(|_| is_list) {
        // The question is above the first choice.
        Some(first) => {
            let above = screen.lines[..*first].iter().rev().map(|line| unframed(line));
            let mut above: Vec<String> =
                above.filter(|line| !line.is_empty()).take(4).map(str::to_owned).collect();
            above.reverse();
            above
        }
        None => lines.iter().take(2).rev().map(|line| up_to_mark(line).to_owned()).collect(),
    };
    let choice = |row: &usize| unpointed(unframed(&screen.lines[*row])).trim().to_owned();
    let choices = if is_list { list.iter().map(choice).collect() } else { Vec::new() };
    Some(Dialogue { kind: DialogKind::Question, text: joined(&text), choices })
}

/// The rows of the choices with numbers of which one has a pointer, among the lowest filled lines. Another list above it
/// is not part of it: its numbers do not lead to those of the choices.
fn numbered_list(lines: &[String], most: usize) -> Vec<usize> {
    /// A choice may have further lines.
    const APART: usize = 5;
    let number = |row: &usize| -> Option<u32> {
        let line = unpointed(unframed(&lines[*row]));
        is_choice(line).then(|| line.split(['.', ')']).next()?.parse().ok())?
    };
    let is_pointed = |row: &usize| {
        let rest = unframed(&lines[*row]).strip_prefix(POINTERS);
        rest.is_some_and(|rest| is_choice(rest.trim_start()))
    };
    let filled = (0..lines.len()).rev().filter(|row| !unframed(&lines[*row]).is_empty());
    let Some(at) = filled.take(most).find(is_pointed) else { return Vec::new() };
    let mut rows = vec![at];
    let (mut row, mut wanted) = (at, number(&at).and_then(|number| number.checked_sub(1)));
    while let Some(found) =
        (row.saturating_sub(APART)..row).rev().find(|row| wanted.is_some() && number(row) == wanted)
    {
        rows.insert(0, found);
        (row, wanted) = (found, wanted.and_then(|number| number.checked_sub(1)));
    }
    let (mut row, mut wanted) = (at, number(&at).and_then(|number| number.checked_add(1)));
    while let Some(found) =
        (row + 1..lines.len()).take(APART).find(|row| wanted.is_some() && number(row) == wanted)
    {
        rows.push(found);
        (row, wanted) = (found, wanted.and_then(|number| number.checked_add(1)));
    }
    rows
}

/// A question above choices without numbers, one of them with a pointer, at the bottom of the screen.
fn plain_question(screen: &ScreenText) -> Option<Dialogue> {
    const POINTING: [char; 5] = ['❯', '›', '→', '▶', '»'];
    const BELOW_MOST: usize = 2;
    const ABOVE_MOST: usize = 4;
    let lines = &screen.lines;
    let is_pointed = |line: &String| {
        let words = pointed(line).filter(|_| unframed(line).starts_with(POINTING));
        words.is_some_and(|words| !is_choice(words))
    };
    let list = plain_list(lines, lines.iter().rposition(is_pointed)?);
    let is_filled = |line: &&String| !unframed(line).is_empty();
    let below = lines[list.end..].iter().filter(is_filled).count();
    let row = usize::from(screen.cursor.row);
    // The dialog of an exited program stays below the lines of the program that goes on.
    let asked = lines[..list.start].iter().rposition(|line| is_filled(&line))?;
    let is_left_over = screen.cursor.is_visible && row < asked;
    let is_elsewhere = is_left_over || (has_prompt(screen) && !list.contains(&row));
    let above: Vec<&String> = lines[..=asked].iter().rev().collect();
    // Installers put a hint behind the question: `? Deploy where? (Use arrow keys)`.
    let is_installers = |line: &str| line.strip_prefix("? ").is_some_and(|rest| !rest.is_empty());
    let is_asked = above
        .first()
        .map(|line| unframed(line))
        .is_some_and(|line| line.ends_with('?') || is_installers(line));
    if list.len() < 2 || below > BELOW_MOST || is_elsewhere || !is_asked {
        return None;
    }
    let asked = above.into_iter().take_while(is_filled).take(ABOVE_MOST).cloned();
    let mut asked: Vec<String> = asked.collect();
    asked.reverse();
    let choices = lines[list].iter().map(|line| unpointed(unframed(line)).trim().to_owned());
    Some(Dialogue { kind: DialogKind::Question, text: joined(&asked), choices: choices.collect() })
}

/// Where the last marker of a question ends in a line. A marker of words stands alone: `any or none` is none.
fn asking_end(line: &str) -> Option<usize> {
    let lower = line.to_ascii_lowercase();
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    let ends = ASKING.iter().flat_map(|mark| {
        let is_word = mark.starts_with(char::is_alphabetic);
        let (lower, length) = (&lower, mark.len());
        lower.match_indices(mark).map(move |(at, _)| (at, at + length)).filter(move |(at, end)| {
            let is_inside = is_letter(lower[..*at].chars().next_back())
                || is_letter(lower[*end..].chars().next());
            !is_word || !is_inside
        })
    });
    ends.map(|(_, end)| end).chain(answers_end(&lower)).max()
}

/// Where the answers in brackets end, such as `[y/n]`, `(yes/no/[fingerprint])` or `[y,n,q,a,d,?]`.
fn answers_end(lower: &str) -> Option<usize> {
    const MOST: usize = 60;
    let closing = |open: char| if open == '(' { ')' } else { ']' };
    let group = |(at, open): (usize, &str)| {
        let inside = &lower[at + 1..];
        let length = inside.find(closing(open.chars().next()?)).filter(|length| *length <= MOST)?;
        let is_one_of = |words: [&str; 2]| {
            inside[..length].split(['/', ',']).any(|answer| words.contains(&answer))
        };
        (is_one_of(["y", "yes"]) && is_one_of(["n", "no"])).then_some(at + 1 + length + 1)
    };
    lower.match_indices(['(', '[']).filter_map(group).max()
}

/// Cuts the text after the marker: a half-typed answer does not make it another question.
fn up_to_mark(line: &str) -> &str {
    asking_end(line).map_or(line, |end| &line[..end])
}

/// A prompt that asks: the words before its mark end with `?`, or it begins with `? `, as the prompts of many installers
/// do. What is typed behind the mark is not part of the question.
fn prompt_question(screen: &ScreenText) -> Option<String> {
    let line = screen.lines.get(usize::from(screen.cursor.row))?;
    let before = cells(line, usize::from(screen.cursor.column));
    let typed = before.trim_start_matches(|c: char| c.is_whitespace() || is_frame(c));
    let is_asking_prompt = typed.strip_prefix("? ").is_some_and(|rest| !rest.trim().is_empty());
    let chars: Vec<char> = typed.chars().collect();
    let last = chars.iter().rposition(|c| MARKS.contains(c)).filter(|at| at + 1 == chars.len());
    let end = mark_in(&chars).or(last).filter(|mark| {
        let words: String = chars[..*mark].iter().collect();
        is_asking_prompt || words.trim_end().ends_with('?')
    });
    let asked = chars.iter().skip(2).rposition(|c| *c == '?').map(|at| at + 2);
    let end = end.or(asked.filter(|_| is_asking_prompt))?;
    Some(chars[..=end].iter().collect())
}

/// A question without an answer. After an answer the program goes on: then the last line is something else, or the
/// cursor is at a prompt below.
pub fn open_question(screen: &ScreenText) -> Option<Dialogue> {
    let question = question(screen)?;
    if screen.hides_input || plain_question(screen).as_ref() == Some(&question) {
        return Some(question);
    }
    let row = usize::from(screen.cursor.row);
    let at_cursor = screen.lines.get(row).map_or("", |line| unframed(line));
    let is_at_prompt = has_prompt(screen) && !is_choice(unpointed(at_cursor));
    // The answer may be typed at a prompt of its own, below the question.
    let mut last = bottom(screen).skip_while(|line| matches!(*line, ">" | "?" | "❯" | "›" | "»"));
    let last = last.next().unwrap_or_default();
    let is_below = bottom(screen).next() != Some(last);
    let ends_there =
        |end: usize| !is_below || last[end..].trim_matches(['.', ':', '?', ' ']).is_empty();
    let is_last = asking_end(last).is_some_and(ends_there) || prompt_question(screen).is_some();
    // The dialog of an exited program stays below the lines of the program that goes on.
    let is_choice_line = |line: &String| is_choice(unpointed(unframed(line)).trim());
    let first_choice = screen.lines.iter().position(is_choice_line).unwrap_or_default();
    let is_left_over = screen.cursor.is_visible && row < first_choice;
    let is_open = match question.choices.is_empty() {
        true => is_last,
        false => !is_at_prompt && !is_left_over,
    };
    is_open.then_some(question)
}

fn unpointed(line: &str) -> &str {
    line.trim_start_matches(['❯', '>', '›', '→', '▶', '●', '»', ' '])
}

fn is_choice(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < line.len() && rest.starts_with(['.', ')'])
}

pub(crate) fn is_choice_line(line: &str) -> bool {
    is_choice(unpointed(unframed(line)).trim())
}

pub(crate) fn choices(lines: &[String]) -> Vec<String> {
    let choice = |line: &String| {
        let line = unpointed(unframed(line)).trim();
        is_choice(line).then(|| line.to_owned())
    };
    lines.iter().filter_map(choice).collect()
}

const POINTERS: [char; 7] = ['❯', '>', '›', '→', '▶', '●', '»'];

/// The words behind a pointer, as in `❯ No`.
pub fn pointed(line: &str) -> Option<&str> {
    let words = unframed(line).strip_prefix(POINTERS)?.strip_prefix([' ', '\u{a0}'])?.trim();
    (!words.is_empty()).then_some(words)
}

/// Choices without numbers: the line with the pointer, and the lines around it that begin in the same column.
pub(crate) fn plain_choices(lines: &[String]) -> Vec<String> {
    let Some(at) = lines.iter().position(|line| pointed(line).is_some()) else { return Vec::new() };
    let shown = &lines[plain_list(lines, at)];
    shown.iter().map(|line| unpointed(unframed(line)).trim().to_owned()).collect()
}

/// The lines around the one with the pointer that begin in the same column.
fn plain_list(lines: &[String], at: usize) -> std::ops::Range<usize> {
    let column = |line: &str| {
        let is_before = |c: &char| c.is_whitespace() || is_frame(*c) || POINTERS.contains(c);
        line.chars().take_while(is_before).count()
    };
    let is_one = |line: &&String| !unframed(line).is_empty() && column(line) == column(&lines[at]);
    let above = lines[..at].iter().rev().take_while(is_one).count();
    let below = lines[at..].iter().take_while(is_one).count();
    at - above..at + below
}

pub(crate) fn joined(lines: &[String]) -> String {
    let parts: Vec<&str> =
        lines.iter().map(|line| unframed(line)).filter(|line| !line.is_empty()).collect();
    let text = parts.join(" / ");
    match text.char_indices().nth(QUESTION_MOST) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

/// A line is free if the cursor is at its beginning, or right after the line's first prompt character and its blank.
/// Anything else may be half a sentence.
pub fn is_begun(screen: &ScreenText) -> bool {
    let Some(line) = screen.lines.get(usize::from(screen.cursor.row)) else { return false };
    let column = usize::from(screen.cursor.column);
    let before: String = cells(line, column);
    let typed = before.trim_start_matches(|c: char| c.is_whitespace() || is_frame(c));
    let after = line.chars().skip(before.chars().count()).collect::<String>();
    if typed.is_empty() {
        return is_text_behind(screen, &after);
    }
    let chars: Vec<char> = typed.chars().collect();
    let Some(mark) = mark_in(&chars) else { return !is_mark_alone(&chars) };
    let rest: String = chars[mark + 1..].iter().collect();
    !rest.trim().is_empty() || is_text_behind(screen, &after)
}

/// True if a prompt character is left of the cursor.
pub fn has_prompt(screen: &ScreenText) -> bool {
    let Some(line) = screen.lines.get(usize::from(screen.cursor.row)) else { return false };
    let before = cells(line, usize::from(screen.cursor.column));
    let typed = before.trim_start_matches(|c: char| c.is_whitespace() || is_frame(c));
    let chars: Vec<char> = typed.chars().collect();
    mark_in(&chars).is_some() || is_mark_alone(&chars)
}

/// The position of the first prompt character that is followed by a blank.
fn mark_in(chars: &[char]) -> Option<usize> {
    let is_blank = |at: usize| chars.get(at).is_some_and(|c| matches!(c, ' ' | '\u{a0}'));
    let first = (0..chars.len()).find(|at| {
        let is_colon = chars[*at] == ':' && *at > 0 && chars[at - 1] == ']';
        let is_mark = MARKS.contains(&chars[*at]) || is_colon;
        is_mark && is_blank(at + 1)
    });
    // A debugger's prompt is a word in brackets. In a shell's prompt such a word comes first, and its mark behind it.
    let name = chars.iter().position(|c| *c == ')').filter(|at| {
        let is_name = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        chars[0] == '(' && *at > 1 && chars[1..*at].iter().all(is_name) && is_blank(at + 1)
    });
    match (name, first) {
        (Some(name), None) => Some(name),
        (Some(name), Some(first)) => {
            let between: String = chars[name + 1..first].iter().collect();
            let is_shell = matches!(chars[first], '$' | '#' | '%');
            let is_prompt = is_shell || !between.trim().contains(char::is_whitespace);
            Some(if is_prompt { first } else { name })
        }
        (None, first) => first,
    }
}

/// True if the line with the cursor is inside a drawn frame, or directly below its upper side. A program that hides its
/// cursor leaves it anywhere: there the cell must be one that the program draws as a cursor.
pub fn is_framed(screen: &ScreenText) -> bool {
    const LEAST: usize = 3;
    const LOWER_CORNERS: [char; 8] = ['╰', '╯', '└', '┘', '╚', '╝', '┗', '┛'];
    let (row, column) = (usize::from(screen.cursor.row), screen.cursor.column);
    let is_drawn_there =
        screen.inverse.iter().any(|at| usize::from(at.row) == row && at.column == column);
    if !screen.cursor.is_visible && !is_drawn_there {
        return false;
    }
    let is_side = |c: char| ('\u{2500}'..='\u{259f}').contains(&c);
    let before = screen.lines.get(row).map(|line| cells(line, usize::from(screen.cursor.column)));
    let above = row.checked_sub(1).and_then(|row| screen.lines.get(row));
    let is_drawn = |line: &String| {
        let drawn = line.trim();
        drawn.chars().count() >= LEAST
            && drawn.chars().all(is_side)
            && !drawn.contains(LOWER_CORNERS)
    };
    before.is_some_and(|before| before.contains(is_side)) || above.is_some_and(is_drawn)
}

/// True if a single prompt character is all that is left of the cursor.
fn is_mark_alone(chars: &[char]) -> bool {
    matches!(chars, [only] if MARKS.contains(only))
}

/// True if the line with the cursor may continue a text of several lines: it has no prompt and is below a text, or it
/// has the continuation prompt of a shell.
pub fn is_further_line(screen: &ScreenText) -> bool {
    let row = usize::from(screen.cursor.row);
    let Some(line) = screen.lines.get(row) else { return false };
    let before = cells(line, usize::from(screen.cursor.column));
    let mark = before.trim_matches(|c: char| c.is_whitespace() || is_frame(c));
    let mut above = screen.lines[..row].iter().rev().filter(|line| !line.trim().is_empty());
    match mark {
        "" => above.next().is_some_and(|line| !is_frame_line(line)),
        ">" => above.next().is_some_and(|line| is_command(line)),
        mark => CONTINUES.contains(&mark),
    }
}

/// Continuation prompts of shells and databases.
const CONTINUES: [&str; 10] =
    ["...", "->", "...>", "quote>", "dquote>", "bquote>", "heredoc>", "then>", "for>", "while>"];

/// A line with a shell prompt and a command after it.
fn is_command(line: &str) -> bool {
    let found = line.find(['$', '#', '%']).map(|at| line.split_at(at + 1));
    found.is_some_and(|(_, rest)| rest.starts_with(' ') && !rest.trim().is_empty())
}

/// Text after the cursor is a placeholder only if it is dim; then it is not in the bright lines.
fn is_text_behind(screen: &ScreenText, after: &str) -> bool {
    let row = usize::from(screen.cursor.row);
    let shown = match screen.bright.get(row) {
        Some(bright) => {
            let skipped = screen.lines[row].chars().count() - after.chars().count();
            bright.chars().skip(skipped).collect::<String>()
        }
        None => after.to_owned(),
    };
    !shown.trim_matches(|c: char| c.is_whitespace() || is_frame(c)).is_empty()
}

/// The beginning of a line up to a column; wide characters take two columns.
pub fn cells(line: &str, column: usize) -> String {
    let mut width = 0;
    line.chars()
        .take_while(|c| {
            let is_before = width < column;
            width += if is_wide(*c) { 2 } else { 1 };
            is_before
        })
        .collect()
}

/// How many columns a line fills.
fn width(line: &str) -> usize {
    line.chars().map(|c| if is_wide(c) { 2 } else { 1 }).sum()
}

fn is_wide(c: char) -> bool {
    ('\u{1100}'..='\u{115f}').contains(&c)
        || ('\u{2e80}'..='\u{a4cf}').contains(&c)
        || ('\u{ac00}'..='\u{d7a3}').contains(&c)
        || ('\u{f900}'..='\u{faff}').contains(&c)
        || ('\u{fe30}'..='\u{fe6f}').contains(&c)
        || ('\u{ff00}'..='\u{ff60}').contains(&c)
        || ('\u{1f300}'..='\u{1faff}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_model::ScreenCursor;

    fn screen(text: &str, row: u16, column: u16) -> ScreenText {
        let cursor = ScreenCursor { row, column, is_visible: true };
        ScreenText {
            lines: text.lines().map(str::to_owned).collect(),
            cursor,
            ..ScreenText::default()
        }
    }

    fn begun(line: &str) -> bool {
        let column = line.chars().count() as u16;
        obstacle(&screen(line, 0, column)) == Some(Obstacle::Begun)
    }

    #[test]
    fn an_installers_list_has_its_choices_also_with_a_hint_behind_the_question() {
        for (text, row, column) in [
            ("? Deploy where? (Use arrow keys)\n » staging\n   production", 0, 16),
            ("? Select a template: (Use arrow keys)\n❯ staging\n  production", 1, 0),
        ] {
            let shown = screen(text, row, column);
            let asked = open_question(&shown).expect("a question");
            assert_eq!(asked.choices, ["staging", "production"], "{text}");
            assert!(matches!(obstacle(&shown), Some(Obstacle::Asks(_))), "{text}");
        }
        let left_over = screen("$ ls\n? Deploy where?\n » staging\n   production", 0, 2);
        assert_eq!(open_question(&left_over), None);
    }

    #[test]
    fn a_hidden_prompt_is_asked_as_it_is_shown() {
        let hidden = |text: &str, row, column| {
            let shown = ScreenText { hides_input: true, columns: 20, ..screen(text, row, column) };
            open_question(&shown).map(|asked| asked.text)
        };
        let asked = |text: &str| Some(text.to_owned());
        assert_eq!(hidden("Password: ", 0, 10), asked("Password:"));
        assert_eq!(hidden("Type the password\n ", 1, 0), asked("Type the password"));
        assert_eq!(
            hidden("Passphrase for '/key\n/of/me': ", 1, 9),
            asked("Passphrase for '/key/of/me':")
        );
        for nothing in ["copying files ", "Working...", "", "42%"] {
            assert_eq!(hidden(nothing, 0, nothing.len() as u16), None, "{nothing:?}");
        }
    }

    #[test]
    fn a_line_behind_its_prompt_mark_is_free_and_any_other_is_begun() {
        for free in ["", "$ ", "user@host:~$ ", ">>> ", "❯ ", "In [1]: ", "mysql> ", "│ > ", ">"]
        {
            assert!(!begun(free), "{free:?}");
        }
        for taken in
            ["$ ls -l", ">>> 1 + ", "user@host:~$ rm -rf", "half a sentence", "$ echo $ ", "❯ half"]
        {
            assert!(begun(taken), "{taken:?}");
        }
        for free in ["(gdb) ", "(venv) user@host:~$ ", "(base) me@mac dir % ", "(env) ❯ "] {
            assert!(!begun(free), "{free:?}");
        }
        for taken in ["(gdb) print 1", "(gdb) p a > ", "(venv) me$ ls"] {
            assert!(begun(taken), "{taken:?}");
        }
        for question in ["Enter choice (1 deletes all): ", "Password: ", ":", "Name:"] {
            assert!(begun(question), "{question:?}");
        }
        assert_eq!(
            obstacle(&screen("$ ls -l", 0, 2)),
            Some(Obstacle::Begun),
            "the cursor was moved"
        );
    }

    #[test]
    fn a_line_below_a_text_may_be_a_further_line_of_it() {
        for (text, row, column) in [
            ("────────\nline one\n\n────────", 2, 0),
            ("> line one\n  ", 1, 2),
            ("$ for i in 1 2; do\n> ", 1, 2),
            ("mysql> select 1\n    -> ", 1, 7),
            (">>> def f():\n... ", 1, 4),
        ] {
            assert!(is_further_line(&screen(text, row, column)), "{text}");
        }
        for (text, row, column) in [
            ("hello\n────────\n\n────────", 2, 0),
            ("hello\n────────\n> \n────────", 2, 2),
            ("hello\n$ ", 1, 2),
            ("$ ls\na b c\n$ ", 2, 2),
            ("", 0, 0),
        ] {
            assert!(!is_further_line(&screen(text, row, column)), "{text}");
        }
    }

    #[test]
    fn a_dim_text_behind_the_cursor_is_a_placeholder() {
        let mut shown = screen("> Try something", 0, 2);
        assert_eq!(obstacle(&shown), Some(Obstacle::Begun));
        shown.bright = vec![">".to_owned()];
        assert_eq!(obstacle(&shown), None);
    }

    #[test]
    fn a_list_of_choices_is_a_question() {
        let text = "Bash command\n  rm -rf x\nDo you want to proceed?\n❯ 1. Yes\n  2. No\n";
        let Some(Obstacle::Asks(asked)) = obstacle(&screen(text, 3, 0)) else { panic!("{text}") };
        assert!(asked.text.ends_with("Do you want to proceed?"), "{}", asked.text);
        assert_eq!(asked.choices, ["1. Yes", "2. No"]);
        assert!(matches!(obstacle(&screen("Overwrite? [Y/n] ", 0, 17)), Some(Obstacle::Asks(_))));
        assert_eq!(obstacle(&screen("1. one\n2. two\n$ ", 2, 2)), None);
    }

    #[test]
    fn another_list_above_the_choices_is_none_of_them() {
        let text = "Tips:\n1. Create a file\n2. Ask\n\n│ Do you trust this folder? │\n│ ● 1. Yes │\n│      with its parent │\n│   2. No │\n";
        let asked = question(&screen(text, 8, 0)).expect(text);
        assert_eq!(asked.choices, ["1. Yes", "2. No"]);
        assert!(asked.text.ends_with("Do you trust this folder?"), "{}", asked.text);
        let text = "Which?\n  1. a\n❯ 2. b\n  3. c\n";
        assert_eq!(question(&screen(text, 3, 0)).expect(text).choices.len(), 3);
    }

    #[test]
    fn a_question_is_open_until_the_program_goes_on() {
        let choices = "Which one?\n❯ 1. Yes\n  2. No\n";
        for (text, row, column) in [
            (choices, 1, 0),
            ("Overwrite? [Y/n] ", 0, 17),
            ("x\nProceed (yes/no)? ", 1, 18),
            ("key\nAre you sure (yes/no/[fingerprint])? ", 1, 38),
            ("Stage this hunk [y,n,q,a,d,e,?]? ", 0, 33),
        ] {
            assert!(open_question(&screen(text, row, column)).is_some(), "{text}");
        }
        let behind = format!("{choices}$ ");
        for (text, row, column) in [
            ("Overwrite? [Y/n] y\n$ ", 1, 2),
            ("Overwrite? [Y/n] y\nwritten", 1, 7),
            (behind.as_str(), 3, 2),
            ("Terminated\nagain\nWhich one?\n❯ 1. Yes\n  2. No\n", 2, 0),
            ("$ ", 0, 2),
        ] {
            assert_eq!(open_question(&screen(text, row, column)), None, "{text}");
        }
    }

    #[test]
    fn a_question_needs_no_brackets() {
        for (text, asked) in [
            ("About to drop it\nReally drop it? > ", "Really drop it? >"),
            ("? Drop the database › ", "? Drop the database ›"),
            ("? Drop the database › half", "? Drop the database ›"),
            ("? Name? ", "? Name?"),
            ("Continue connecting? Type yes or no\n> ", "yes or no"),
            ("Delete all branches? Enter y or n\n", "y or n"),
        ] {
            let row = text.matches('\n').count() as u16;
            let column = text.rsplit('\n').next().map_or(0, |line| line.chars().count()) as u16;
            let shown = screen(text, row, column);
            assert!(matches!(obstacle(&shown), Some(Obstacle::Asks(_))), "{text}");
            let open = open_question(&shown).expect(text);
            assert!(open.text.contains(asked) && !open.text.contains("half"), "{}", open.text);
        }
        for text in
            [">>> f(y, n)\n>>> ", "take any or none\n> ", "why? because\n$ ", "? ", "[Y/n] y\n> "]
        {
            let row = text.matches('\n').count() as u16;
            let column = text.rsplit('\n').next().map_or(0, |line| line.chars().count()) as u16;
            assert_eq!(open_question(&screen(text, row, column)), None, "{text}");
        }
    }

    #[test]
    fn a_frame_is_drawn_around_an_input() {
        assert!(is_framed(&screen("hello\n──────\n\n──────", 2, 0)));
        assert!(is_framed(&screen("│  x", 0, 3)));
        for (text, row) in [("", 0), ("\n~\n~\n~", 0), ("title\n------\n\n", 2)] {
            assert!(!is_framed(&screen(text, row, 0)), "{text}");
        }
    }

    /// Ink hides the cursor and leaves it below the box: a text typed there goes into a line that cannot be seen.
    #[test]
    fn a_hidden_cursor_is_in_no_frame_unless_it_is_drawn() {
        let box_above = "╭──────╮\n│ > x  │\n╰──────╯\n";
        assert!(!is_framed(&screen(box_above, 3, 0)), "below the lower side");
        let mut shown = screen("──────\n\n──────", 1, 0);
        assert!(is_framed(&shown));
        shown.cursor.is_visible = false;
        assert!(!is_framed(&shown));
        shown.inverse = vec![ostler_model::ScreenSpot { row: 1, column: 0 }];
        assert!(is_framed(&shown));
    }

    #[test]
    fn choices_without_numbers_below_a_question_are_a_question() {
        let menu = "> you said hello\n\nAllow this tool?\n❯ Yes\n  No\n\n↑/↓ to select";
        let mut shown = screen(menu, 7, 0);
        shown.cursor.is_visible = false;
        let asked = open_question(&shown).expect(menu);
        assert_eq!(
            (asked.text.as_str(), asked.choices),
            ("Allow this tool?", vec!["Yes".to_owned(), "No".to_owned()])
        );
        assert!(open_question(&screen(menu, 3, 2)).is_some(), "the cursor is in the list");
        for text in [
            "Allow this tool?\n❯ Yes\n  No\n$ ",
            "What is new?\n❯ tell me\n",
            "The list\n❯ Yes\n  No\n",
            "Is it?\n❯ Yes\n  No\n\n● It is.\n\n● Done.\n\n✻ Worked\n> ",
        ] {
            let row = text.matches('\n').count() as u16;
            let column = text.rsplit('\n').next().map_or(0, |line| line.chars().count()) as u16;
            assert_eq!(open_question(&screen(text, row, column)), None, "{text}");
        }
    }

    #[test]
    fn a_half_typed_answer_is_the_same_question() {
        let asked = |text: &str| question(&screen(text, 0, 0)).map(|question| question.text);
        assert_eq!(asked("Overwrite? [Y/n] y"), asked("Overwrite? [Y/n] "));
    }

    #[test]
    fn an_agent_that_shows_how_to_interrupt_it_is_working() {
        let text = "✻ Thinking… (12s · esc to interrupt)\n\n> ";
        assert_eq!(obstacle(&screen(text, 2, 2)), Some(Obstacle::Works));
    }
}
