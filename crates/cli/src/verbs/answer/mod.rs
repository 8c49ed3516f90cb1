//! `ostler answer`: finds the question on a terminal, types the answer, and verifies that the question is gone.

mod keyboard;
mod keys;
mod text;

use super::screen::{LiveRun, agent, read, shown};
use crate::args::AnswerArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::{errln, outln};
use crate::render;
use keyboard::{Keyboard, turn};
use keys::{Answer, Secret};
use ostler_agents::cautious::pointed;
use ostler_client::Client;
use ostler_model::{AgentState, AgentView, PatrolNote, RunId, RunState, ScreenText, What};
use ostler_ops::patrol::Note;
use ostler_ops::runs::Show;
use serde::Serialize;
use serde_json::{Map, json};
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

/// How long a program may take to react to the answer.
const HEARD_MS: u64 = 5_000;
/// How long a text may take to appear.
const SHOWN_MS: u64 = 2_000;
/// The interval between two looks at the screen.
const LOOK: Duration = Duration::from_millis(150);

pub fn answer(context: &Context, arguments: &AnswerArguments) -> Result<Exit, Failure> {
    let AnswerArguments { name, answer: word, text, stdin, json } = arguments;
    let (word, is_text) = match word {
        Some(word) if !stdin => (word.clone(), *text),
        Some(_) | None => (first_line()?, true),
    };
    let answer = Answer::parse(&word, is_text).map_err(Failure::usage)?;
    let mut client = context.connect_running()?;
    let live = LiveRun::find(&mut client, name)?;
    let _turn = turn(context, &live)?;
    let before = Look::take(&mut client, live.run)?;
    let asked = before.asked(name)?;
    let record = client.call(&Show::of(live.run))?;
    // In tmux the run's own process is the shim, which has no terminal.
    let program = live.unit.as_ref().and_then(|view| view.pid).or(record.pid);
    let device = program.and_then(ostler_os::terminal_of);
    // The terminal is in line mode: the program gets the whole line, whatever the screen shows.
    let is_so = |look: fn(&Path) -> std::io::Result<bool>| {
        device.as_deref().is_some_and(|device| look(device).unwrap_or(false))
    };
    let takes_lines = before.screen.hides_input || is_so(ostler_os::gives_lines);
    let answer = match takes_lines {
        true if before.screen.hides_input => Answer::hidden(&word, is_text),
        true => answer,
        false => text::for_choices(answer, before.agent.as_ref())
            .map_err(|description| Failure::failed(anyhow::anyhow!("{name}: {description}")))?,
    };
    let mut keyboard = Keyboard::of(context, &live)?;
    note(&mut client, &live, &answer, asked)?;
    match &answer {
        Answer::Key(key) => keyboard.press(*key, before.screen.application_cursor)?,
        Answer::Letter(letter) => {
            keyboard.type_in(&letter.to_string())?;
            let is_line = before.is_of_unknown_program() || !before.has_choices();
            if is_line && is_echoed(&mut client, live.run, &before)? {
                // The program reads whole lines.
                keyboard.press(keys::Key::Enter, false)?;
            }
        }
        Answer::Text(text) => {
            keyboard.type_in(text)?;
            let now = until_shown(&mut client, live.run, &before.screen)?;
            if !takes_lines && !text::has_appeared(text, &before.screen, &now) {
                return Err(Failure::failed(anyhow::anyhow!(
                    "{name}: typed, not sent: the text did not appear on the screen, so Enter was not pressed; \
                     see `ostler screen {name}`, and type with `ostler attach {name}`"
                )));
            }
            keyboard.press(keys::Key::Enter, false)?;
        }
        Answer::Hidden(Secret(text)) => {
            if text.len() > ostler_os::LINE_MOST {
                let why = format!("the program reads at most {} bytes", ostler_os::LINE_MOST);
                return Err(Failure::failed(anyhow::anyhow!("{name}: nothing was typed: {why}")));
            }
            // The text must never be typed where it would be shown.
            if !read(&mut client, live.run)?.hides_input {
                return Err(Failure::failed(anyhow::anyhow!(
                    "{name}: nothing was typed: its input is not hidden any more; see `ostler screen {name}`"
                )));
            }
            // A person may have begun to type, which the screen does not show.
            if is_so(ostler_os::clears_line) {
                keyboard.press(keys::Key::ClearLine, false)?;
            }
            keyboard.type_in(text)?;
            keyboard.press(keys::Key::Enter, false)?;
        }
        Answer::Choice(words) => {
            if !select(&mut client, live.run, &mut keyboard, words, &before)? {
                return Err(Failure::failed(anyhow::anyhow!(
                    "{name}: {words:?} could not be selected, so Enter was not pressed; see `ostler screen {name}`, \
                     and answer with an arrow, enter or escape"
                )));
            }
            keyboard.press(keys::Key::Enter, false)?;
        }
    }
    let (outcome, after) = verify(&mut client, live.run, &before, asked, &answer)?;
    if *json {
        let document = json!({
            "unit": live.unit.map(|view| view.name),
            "runId": live.run,
            "question": asked,
            "outcome": outcome,
            "agent": after.agent,
            "screen": shown(&after.screen),
        });
        outln!("{document}");
        return Ok(outcome.exit());
    }
    for line in shown(&after.screen) {
        outln!("{line}");
    }
    match outcome {
        Outcome::Gone => match after.word() {
            Some(word) => errln!("ostler: the question is gone; {name} is {word}"),
            None => errln!("ostler: the question is gone"),
        },
        Outcome::Ended => errln!("ostler: {name} has ended"),
        Outcome::Changed => errln!("ostler: {name} asks again, or asks another question"),
        Outcome::Moved => errln!("ostler: the question is still there; the selection has moved"),
        Outcome::Unchanged => {
            let description = format!("the question is still there after {} s", HEARD_MS / 1_000);
            return Err(Failure::failed(anyhow::anyhow!(description)));
        }
    }
    Ok(outcome.exit())
}

/// The first line of standard input, without its line break.
fn first_line() -> Result<String, Failure> {
    if std::io::stdin().is_terminal() {
        let why = "standard input is a terminal, which would show the answer; use a pipe or a file";
        return Err(Failure::usage(why.to_owned()));
    }
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(line)
}

/// Writes a journal entry before the answer is typed, so that the entry precedes the effects. The text is not recorded,
/// because it may be a secret.
fn note(
    client: &mut Client,
    live: &LiveRun,
    answer: &Answer,
    asked: Option<&str>,
) -> Result<(), Failure> {
    let Some(unit) = &live.unit else { return Ok(()) };
    let note = PatrolNote {
        unit: Some(unit.name.clone()),
        what: What::AgentAnswered,
        why: format!("with {}", answer.description()),
        evidence: Map::from_iter([("question".to_owned(), json!(asked))]),
    };
    client.call(&Note { notes: vec![note] })?;
    Ok(())
}

/// What happened to the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    Gone,
    Changed,
    /// Another choice is selected.
    Moved,
    Unchanged,
    /// The run has ended.
    Ended,
}

impl Outcome {
    fn exit(self) -> Exit {
        match self {
            Outcome::Gone | Outcome::Changed | Outcome::Moved | Outcome::Ended => Exit::DONE,
            Outcome::Unchanged => Exit::FAILED,
        }
    }
}

struct Look {
    screen: ScreenText,
    agent: Option<AgentView>,
}

impl Look {
    fn take(client: &mut Client, run: RunId) -> Result<Self, Failure> {
        let screen = read(client, run)?;
        Ok(Self { agent: agent(client, run, true)?, screen })
    }

    /// The state of the agent, if it is known.
    fn word(&self) -> Option<String> {
        let known = self.agent.as_ref().filter(|agent| agent.state != AgentState::Unknown);
        known.map(|agent| render::agent_word(agent, ostler_os::wall_ms()))
    }

    fn has_choices(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| !agent.choices.is_empty())
    }

    /// The lines above the cursor: a program that took a line goes on below it.
    fn above(&self) -> &[String] {
        let row = usize::from(self.screen.cursor.row).min(self.screen.lines.len());
        &self.screen.lines[..row]
    }

    fn is_of_unknown_program(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| agent.profile.is_empty())
    }

    /// The question of the agent; an error if the agent asks nothing.
    fn asked(&self, name: &str) -> Result<Option<&str>, Failure> {
        match &self.agent {
            Some(agent) if agent.state == AgentState::Waiting => Ok(agent.question.as_deref()),
            Some(_) => Err(Failure::failed(anyhow::anyhow!(
                "{name} asks no question, its state is {}; see `ostler screen {name}`",
                self.word().unwrap_or_else(|| "unknown".to_owned())
            ))),
            None => Err(Failure::failed(anyhow::anyhow!(
                "no question is recognised on the terminal of {name}; see `ostler screen {name}`, \
                 and type with `ostler attach {name}`"
            ))),
        }
    }

    fn outcome(&self, before: &Look, asked: Option<&str>, answer: &Answer) -> Outcome {
        let waits = self.agent.as_ref().filter(|agent| agent.state == AgentState::Waiting);
        let is_line = answer.is_letter() && !before.has_choices();
        match waits {
            None => Outcome::Gone,
            // A program may ask for the password again.
            Some(agent) if before.screen.hides_input => {
                match agent.question.as_deref() == asked && self.above() == before.above() {
                    true => Outcome::Unchanged,
                    false => Outcome::Changed,
                }
            }
            // The typed letter is behind the question, and the program has not taken it; or it asks again.
            Some(agent) if is_line && continues(agent.question.as_deref(), asked) => {
                match self.above() == before.above() {
                    true => Outcome::Unchanged,
                    false => Outcome::Changed,
                }
            }
            Some(agent) if agent.question.as_deref() != asked => Outcome::Changed,
            Some(_) if answer.moves() && self.screen.lines != before.screen.lines => Outcome::Moved,
            Some(_) => Outcome::Unchanged,
        }
    }
}

/// Waits until two looks in a row agree, because one look may see a half-drawn screen.
fn verify(
    client: &mut Client,
    run: RunId,
    before: &Look,
    asked: Option<&str>,
    answer: &Answer,
) -> Result<(Outcome, Look), Failure> {
    let until_ms = ostler_os::mono_ms() + HEARD_MS;
    let mut last = Outcome::Unchanged;
    loop {
        ostler_os::nap(LOOK);
        let after = match Look::take(client, run) {
            Ok(after) => after,
            Err(failure) => {
                let nothing = Look { screen: ScreenText::default(), agent: None };
                return if has_ended(client, run)? {
                    Ok((Outcome::Ended, nothing))
                } else {
                    Err(failure)
                };
            }
        };
        let outcome = after.outcome(before, asked, answer);
        let is_late = ostler_os::mono_ms() >= until_ms;
        if (outcome == last && outcome != Outcome::Unchanged) || is_late {
            return Ok((outcome, after));
        }
        last = outcome;
    }
}

/// Whether a question is another one with something typed behind it.
fn continues(question: Option<&str>, asked: Option<&str>) -> bool {
    match (question, asked) {
        (Some(question), Some(asked)) => question.trim_end().starts_with(asked.trim_end()),
        (question, asked) => question == asked,
    }
}

/// Moves the selection down, until it is at the choice. Lists begin at their top again behind their end.
fn select(
    client: &mut Client,
    run: RunId,
    keyboard: &mut Keyboard,
    words: &str,
    before: &Look,
) -> Result<bool, Failure> {
    let choices = before.agent.as_ref().map_or(&[][..], |agent| &agent.choices);
    for _ in 0..=choices.len() {
        let now = read(client, run)?;
        let selected = now.lines.iter().rev().filter_map(|line| pointed(line));
        let mut selected = selected.filter(|words| choices.iter().any(|choice| choice == words));
        if selected.next() == Some(words) {
            return Ok(true);
        }
        keyboard.press(keys::Key::Down, now.application_cursor)?;
        until_shown(client, run, &now)?;
    }
    Ok(false)
}

/// Whether the cursor moved exactly one column right after a letter was typed: then the terminal echoed the letter,
/// and the program has not read it.
fn is_echoed(client: &mut Client, run: RunId, before: &Look) -> Result<bool, Failure> {
    until_shown(client, run, &before.screen)?;
    let now = read(client, run)?;
    let (old, new) = (before.screen.cursor, now.cursor);
    Ok(new.row == old.row && new.column == old.column + 1)
}

fn has_ended(client: &mut Client, run: RunId) -> Result<bool, Failure> {
    Ok(client.call(&Show::of(run))?.state == RunState::Exited)
}

/// Waits until the screen has changed and is stable. A program may treat keys that arrive together as a paste, and
/// Enter as a part of the paste.
fn until_shown(
    client: &mut Client,
    run: RunId,
    before: &ScreenText,
) -> Result<ScreenText, Failure> {
    let until_ms = ostler_os::mono_ms() + SHOWN_MS;
    let mut last = before.clone();
    while ostler_os::mono_ms() < until_ms {
        ostler_os::nap(LOOK);
        let now = read(client, run)?;
        if now != *before && now == last {
            break;
        }
        last = now;
    }
    Ok(last)
}
