//! A text into a terminal, with a look before and after each step.
//!
//! ```text
//! looked at ──a question, half a line, no prompt yet──▶ refused, nothing was typed
//!     │
//!     ▼
//!   typed ──not in the input box──▶ taken back ──▶ refused
//!     │ the box holds exactly this text
//!     ▼
//!  entered ──still in the box──▶ Enter again, twice at most ──▶ taken back ──▶ refused
//!     │ the box is empty again                                      └─ it stays there ──▶ typed, not sent
//!     ▼
//! delivered: the agent wrote it down itself, or it left the box as one message
//! ```
//!
//! What the box is, and what a text in it looks like, is known from the agent's profile (`known`). For a program without
//! one it is the line with the cursor (`unknown`), and what is not certain is not sent.

use super::agent::Agent;
use super::terminal::{Key, Paste, Terminal, Trouble};
use super::text::clean;
use super::{Before, Refusal, with_profile, without_profile};
use serde::{Deserialize, Serialize};
use std::time::Duration;

pub(super) const LOOK_EVERY_MS: u64 = 20;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypingOutcome {
    Delivered { proof: String, session: Option<String> },
    Refused(Refusal, String),
}

/// How far it is, for the next one if we do not come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Typing,
    Entering,
    /// The message that the agent was working on is in its input box again, and is about to be taken out of it.
    Returned,
}

/// What is typed, and what stood there before: enough for the next one to see whether something of it is left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Typed {
    pub text: String,
    /// What stood before the cursor.
    #[serde(default)]
    pub mark: String,
    /// The line above the cursor.
    #[serde(default)]
    pub above: String,
}

/// `note` is called before each stage begins, and may refuse it.
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

/// A note that could not be kept ends it.
pub(super) fn noted(
    note: &mut dyn FnMut(Stage, &Typed) -> std::io::Result<()>,
    stage: Stage,
    typed: &Typed,
) -> Result<(), TypingOutcome> {
    note(stage, typed).map_err(|error| {
        TypingOutcome::Refused(Refusal::Gone, format!("no note can be kept of it: {error}"))
    })
}

/// The text as it may be typed, or why nothing of it can be.
pub(super) fn cleaned(text: &str, paste: Paste) -> Result<String, TypingOutcome> {
    let text = clean(text, paste);
    if text.trim().is_empty() {
        let why = "nothing of it can be typed: it has only control characters and blanks";
        return Err(TypingOutcome::Refused(Refusal::Nothing, why.to_owned()));
    }
    Ok(text)
}

/// A key whose answer is lost may have arrived all the same: the screen tells.
pub(super) fn press(terminal: &mut dyn Terminal, key: Key) -> Result<(), Trouble> {
    match terminal.press(key) {
        Ok(()) | Err(Trouble::Unknown(_)) => Ok(()),
        Err(gone) => Err(gone),
    }
}

/// What the program has not read is taken back: how many bytes. More of a long text may be on its way, and takes the
/// place of that.
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
