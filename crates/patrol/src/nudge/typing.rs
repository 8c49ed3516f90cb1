//! Types a text into a terminal and checks the screen before and after each step.
//!
//! ```text
//! look at screen ──question, begun line, no prompt yet──▶ refused, nothing was typed
//!     │
//!     ▼
//!   typed ──not in the input box──▶ removed ──▶ refused
//!     │ the box holds exactly this text
//!     ▼
//!  entered ──still in the box──▶ Enter again, twice at most ──▶ removed ──▶ refused
//!     │ the box is empty again                                      └─ not removed ──▶ typed, not sent
//!     ▼
//! delivered: the agent recorded it, or it left the box as one message
//! ```
//!
//! The agent's profile defines the input box and how a text in it looks (`with_profile`). Without a profile, the input
//! box is the line with the cursor (`without_profile`), and an uncertain text is not sent.

use super::agent::Agent;
use super::terminal::{Key, Paste, Terminal, Trouble};
use super::text::clean;
use super::{Before, Refusal, with_profile, without_profile};
use serde::{Deserialize, Serialize};
use std::time::Duration;

pub(super) const LOOK_EVERY_MS: u64 = 20;

/// The result of typing a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypingOutcome {
    Delivered { proof: String, session: Option<String> },
    Refused(Refusal, String),
}

/// How far the typing is, recorded for the next process in case this one dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Typing,
    Entering,
    /// The message that the agent was working on is back in its input box and is about to be removed from it.
    Returned,
}

/// The typed text and what was on the screen before it, so that the next process can see whether any of it is left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Typed {
    pub text: String,
    /// The text left of the cursor.
    #[serde(default)]
    pub mark: String,
    /// The line above the cursor.
    #[serde(default)]
    pub above: String,
}

/// `note` is called before each stage begins. If it fails, the stage does not begin.
pub fn speak(
    terminal: &mut dyn Terminal,
    agent: Option<&Agent>,
    text: &str,
    before: Before,
    note: &mut dyn FnMut(Stage, &Typed) -> std::io::Result<()>,
) -> TypingOutcome {
    let said = match agent {
        Some(agent) if agent.profile.input.is_some() => {
            with_profile::speak(terminal, agent, text, before, note)
        }
        Some(_) | None => without_profile::speak(terminal, text, before, note),
    };
    said.unwrap_or_else(|trouble| TypingOutcome::Refused(Refusal::Gone, trouble.to_string()))
}

/// If the note cannot be written, typing stops.
pub(super) fn noted(
    note: &mut dyn FnMut(Stage, &Typed) -> std::io::Result<()>,
    stage: Stage,
    typed: &Typed,
) -> Result<(), TypingOutcome> {
    note(stage, typed).map_err(|error| {
        TypingOutcome::Refused(
            Refusal::Gone,
            format!("the note about it cannot be written: {error}"),
        )
    })
}

/// The text as it may be typed, or why none of it can be.
pub(super) fn cleaned(text: &str, paste: Paste) -> Result<String, TypingOutcome> {
    let text = clean(text, paste);
    if text.trim().is_empty() {
        let why = "the text has only control characters and blanks: nothing can be typed";
        return Err(TypingOutcome::Refused(Refusal::Nothing, why.to_owned()));
    }
    Ok(text)
}

/// If tmux does not confirm a key, it may still have arrived: the screen shows it.
pub(super) fn press(terminal: &mut dyn Terminal, key: Key) -> Result<(), Trouble> {
    match terminal.press(key) {
        Ok(()) | Err(Trouble::Unknown(_)) => Ok(()),
        Err(gone) => Err(gone),
    }
}

/// Discards input that the program has not read yet, and returns the number of bytes. More of a long text may be on its
/// way and refill the buffer, so this repeats until two reads find nothing.
pub(super) fn forget_unread(terminal: &dyn Terminal) -> u64 {
    const TIMES: usize = 60;
    let Some(device) = terminal.device() else { return 0 };
    let (mut nothing, mut bytes) = (0, 0);
    for _ in 0..TIMES {
        match ostler_os::forget_unread(&device) {
            Ok(0) => nothing += 1,
            Ok(count) => (nothing, bytes) = (0, bytes + count),
            Err(_) => break,
        }
        if nothing == 2 {
            break;
        }
        pause(LOOK_EVERY_MS);
    }
    bytes
}

pub(super) fn pause(ms: u64) {
    ostler_os::nap(Duration::from_millis(ms));
}
