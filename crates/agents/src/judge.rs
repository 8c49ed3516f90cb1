//! Judges an agent's screen by its profile.
//!
//! The order is: a prompt with hidden input, as for a password; a dialog that only a person may answer; a mark of work; the agent's own report by an OSC; its input
//! box. If a screen shows none of these, the state is `unknown`.

use crate::cautious;
use crate::input::{self, InputBox};
use crate::limit;
use crate::profile::{DialogKind, DialogTable, Profile};
use jiff::Zoned;
use ostler_model::AgentState;
use ostler_model::ScreenText;

/// A question on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialogue {
    pub kind: DialogKind,
    pub text: String,
    /// The choices as numbered on the screen.
    pub choices: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    pub profile: String,
    pub state: AgentState,
    pub dialogue: Option<Dialogue>,
    /// When a limit ends, in milliseconds since 1970.
    pub until_ms: Option<u64>,
    /// What on the screen led to the state.
    pub evidence: String,
    pub input: Option<InputBox>,
    /// A completion list is open: Enter would pick an entry.
    pub menu: bool,
}

impl Judged {
    fn of(profile: &Profile, state: AgentState, evidence: impl Into<String>) -> Self {
        Self {
            profile: profile.name.clone(),
            state,
            dialogue: None,
            until_ms: None,
            evidence: evidence.into(),
            input: None,
            menu: false,
        }
    }
}

impl Profile {
    pub fn judge(&self, screen: &ScreenText, now: &Zoned) -> Judged {
        let input = self.input.as_ref().and_then(|table| input::find(table, screen));
        let menu = self.menu_on(screen, input.as_ref());
        let judged = self.state(screen, input.as_ref(), now);
        Judged { input, menu: menu.is_some(), ..judged }
    }

    fn state(&self, screen: &ScreenText, input: Option<&InputBox>, now: &Zoned) -> Judged {
        // Another program has the terminal: an agent reads each key.
        if let Some(question) = cautious::hidden_question(screen) {
            let mut judged = Judged::of(self, AgentState::Waiting, cautious::HIDDEN);
            judged.dialogue = Some(question);
            return judged;
        }
        if let Some(judged) = self.dialogs.iter().find_map(|d| self.asked(d, screen, input, now)) {
            return judged;
        }
        if let Some((row, mark)) = self.busy_on(screen, input) {
            let line = screen.lines[row].trim();
            return Judged::of(self, AgentState::Working, format!("{line:?} matches {mark:?}"));
        }
        if let Some(mark) = self.busy_titles.iter().find(|mark| mark.is_match(&screen.title)) {
            let title = screen.title.trim();
            let evidence = format!("the title {title:?} matches {:?}", mark.as_str());
            return Judged::of(self, AgentState::Working, evidence);
        }
        let reported = self.osc.iter().find_map(|(number, table)| {
            let payload = screen.osc.get(&number.parse().ok()?)?;
            Some((table.state(payload)?, number, payload))
        });
        if let Some((state, number, payload)) = reported {
            return Judged::of(
                self,
                state,
                format!("its program reported {payload:?} by OSC {number}"),
            );
        }
        if let Some(found) = input {
            let what = if found.is_empty() { "is empty" } else { "has text" };
            return Judged::of(self, AgentState::Idle, format!("its input box {what}"));
        }
        if let Some(question) = cautious::question(screen) {
            let mut judged =
                Judged::of(self, AgentState::Waiting, "the screen shows a list of choices");
            judged.dialogue = Some(question);
            return judged;
        }
        Judged::of(
            self,
            AgentState::Unknown,
            "the screen shows neither its input box nor a known dialog",
        )
    }

    fn asked(
        &self,
        dialog: &DialogTable,
        screen: &ScreenText,
        input: Option<&InputBox>,
        now: &Zoned,
    ) -> Option<Judged> {
        if input.is_some() && !dialog.beside_input {
            return None;
        }
        let row_of =
            |pattern: &crate::Pattern| screen.lines.iter().rposition(|line| pattern.is_match(line));
        let rows: Option<Vec<usize>> = dialog.all.iter().map(row_of).collect();
        let row = *rows?.first()?;
        if input.is_some_and(|found| !self.is_last(screen, row, found)) {
            return None;
        }
        let lines = &screen.lines;
        let top = dialog
            .from
            .as_ref()
            .and_then(|from| lines[..=row].iter().rposition(|line| from.is_match(line)))
            .unwrap_or(row);
        let (end, choices) = asks(dialog, lines, top, row, input.is_none());
        let text = cautious::joined(&lines[top..end]);
        let state = match dialog.kind {
            DialogKind::Limit => AgentState::Limited,
            DialogKind::Question
            | DialogKind::Permission
            | DialogKind::Trust
            | DialogKind::Login => AgentState::Waiting,
        };
        let mut judged = Judged::of(self, state, format!("{:?}", screen.lines[row].trim()));
        judged.until_ms = dialog
            .until
            .as_ref()
            .and_then(|until| limit::until(until, &unwrapped(&screen.lines[top..]), now));
        judged.dialogue = Some(Dialogue { kind: dialog.kind, text, choices });
        Some(judged)
    }

    /// A message beside the input box counts only if no other message follows it, and if no person wrote it.
    fn is_last(&self, screen: &ScreenText, row: usize, found: &InputBox) -> bool {
        const NEAR: usize = 12;
        // A line below the input box shows the current state.
        if row > found.bottom {
            return true;
        }
        let Some(between) = screen.lines.get(row + 1..found.top) else { return false };
        if self.is_of_person(&screen.lines[..=row]) {
            return false;
        }
        let first = self.input.as_ref().and_then(|table| table.first.as_ref());
        let is_said = |line: &String| first.is_some_and(|first| first.is_match(line));
        between.iter().filter(|line| !line.trim().is_empty()).count() <= NEAR
            && !between.iter().any(is_said)
    }

    /// Whether the last line is part of a message that was sent to the agent: agents show it with the prompt of their
    /// input box. A line that begins with a bullet begins something else.
    fn is_of_person(&self, lines: &[String]) -> bool {
        let Some(table) = self.input.as_ref() else { return false };
        let Some(first) = table.first.as_ref() else { return false };
        let is_bullet = |line: &str| {
            let sign = line.trim_start().chars().next();
            sign.is_some_and(|sign| !sign.is_ascii() && !sign.is_alphanumeric())
        };
        for line in lines.iter().rev() {
            if first.is_match(line) {
                return true;
            }
            if line.trim().is_empty() || is_bullet(line) || !table.next.is_match(line) {
                return false;
            }
        }
        false
    }

    /// Lines inside the input box do not count: a person may type anything there.
    fn busy_on(&self, screen: &ScreenText, input: Option<&InputBox>) -> Option<(usize, &str)> {
        let is_inside =
            |row: usize| input.is_some_and(|found| (found.top..=found.bottom).contains(&row));
        let rows = (0..screen.lines.len())
            .rev()
            .filter(|row| !screen.lines[*row].trim().is_empty() && !is_inside(*row))
            .take(self.busy_within);
        rows.into_iter().find_map(|row| {
            let mark = self.busy.iter().find(|mark| mark.is_match(&screen.lines[row]))?;
            Some((row, mark.as_str()))
        })
    }

    fn menu_on(&self, screen: &ScreenText, input: Option<&InputBox>) -> Option<&str> {
        let from = match (self.menus_are_below, input) {
            (true, Some(found)) => found.bottom + 1,
            (true, None) => return None,
            (false, _) => 0,
        };
        let shown =
            |mark: &&crate::Pattern| screen.lines.iter().skip(from).any(|line| mark.is_match(line));
        self.menus.iter().find(shown).map(crate::Pattern::as_str)
    }
}

/// The line below the dialog's text, and the choices. They are below the line that the dialog is recognised by, or
/// between it and the beginning of the text.
fn asks(
    dialog: &DialogTable,
    lines: &[String],
    top: usize,
    row: usize,
    is_alone: bool,
) -> (usize, Vec<String>) {
    if let Some(end) = dialog.to.as_ref().and_then(|to| {
        lines[top..].iter().position(|line| to.is_match(line)).filter(|length| *length > 0)
    }) {
        return (top + end, cautious::choices(&lines[top + end..]));
    }
    let has_choices = |from: usize| lines[from..].iter().any(|line| cautious::is_choice_line(line));
    let from = if cautious::is_choice_line(&lines[row]) || !has_choices(row) { top } else { row };
    let choices = cautious::choices(&lines[from..]);
    if let Some(first) = lines[from..].iter().position(|line| cautious::is_choice_line(line)) {
        return (if first > 0 { from + first } else { row + 1 }, choices);
    }
    match dialog.kind {
        DialogKind::Question | DialogKind::Permission | DialogKind::Trust if is_alone => {
            (row + 1, cautious::plain_choices(&lines[row + 1..]))
        }
        DialogKind::Question
        | DialogKind::Permission
        | DialogKind::Trust
        | DialogKind::Login
        | DialogKind::Limit => (row + 1, choices),
    }
}

/// Programs break long texts into lines at any place.
fn unwrapped(lines: &[String]) -> String {
    const LINES: usize = 6;
    let parts: Vec<&str> = lines.iter().take(LINES).map(|line| line.trim()).collect();
    parts.join(" ")
}
