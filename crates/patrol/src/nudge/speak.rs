//! A text into a terminal, with a look before and after each step.
//!
//! ```text
//! looked at ──a menu, a question, a line that is being typed──▶ refused
//!     │ Escape or Ctrl-C, where that was asked for, and time for it
//!     ▼
//!   typed ──not on the screen──▶ cleared ──▶ refused
//!     │ its end is on the screen, which stands still
//!     ▼
//!  entered ──nothing happens, and again not (500, 1000, 2000 ms)──▶ cleared ──▶ refused
//!     │ the line was taken
//!     ▼
//! delivered
//! ```
//!
//! A text that is not seen is not sent: a menu would take Enter for an answer, and a password that is asked for shows
//! nothing.

use super::evidence::{Obstacle, Shown, is_quiet, is_taken, obstacle, shown};
use super::terminal::{Key, Look, Paste, Terminal, Trouble};
use super::text::{clean, tail};
use super::{Before, Refusal};
use ostler_os::LINE_MOST;
use std::path::PathBuf;
use std::time::Duration;

/// Readline waits 500 ms for what follows an Escape; Enter must not be that.
const AFTER_ESCAPE_MS: u64 = 650;
/// How long a program may take to show what was typed.
const SHOWN_WITHIN_MS: u64 = 3_000;
const CHUNK: usize = 512;
const CHUNK_MS: u64 = 25;
/// Where nothing proves that the text is there, this long is enough for most programs.
const UNPROVEN_MS: u64 = 500;
const UNPROVEN_MOST_MS: u64 = 2_000;
/// Programs that are not told of a paste take keys that come quickly for one, and Enter for a part of it.
const PLAIN_MS: u64 = 150;
const STILL_WITHIN_MS: u64 = 1_000;
const ENTER_WAITS_MS: [u64; 3] = [500, 1_000, 2_000];
const CLEARED_WITHIN_MS: u64 = 300;
const LOOK_EVERY_MS: u64 = 15;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Delivered,
    Refused(Refusal, String),
}

/// How far it is, for whoever has to know if we do not come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Typing,
    Entering,
}

/// `note` is told of each stage before it begins, and may refuse it.
pub fn speak(
    terminal: &mut dyn Terminal,
    text: &str,
    before: Before,
    mut note: impl FnMut(Stage, &str) -> std::io::Result<()>,
) -> Said {
    let ready = match prepare(terminal, text, before) {
        Ok(Ok(ready)) => ready,
        Ok(Err((refusal, why))) => return Said::Refused(refusal, why),
        Err(trouble) => return Said::Refused(Refusal::Gone, trouble.to_string()),
    };
    let mut at = |stage| {
        note(stage, &ready.tail).map_err(|error| {
            Said::Refused(Refusal::Gone, format!("no note can be kept of it: {error}"))
        })
    };
    if let Err(said) = at(Stage::Typing) {
        return said;
    }
    let typed = match type_and_see(terminal, &ready) {
        Ok(Some(typed)) => typed,
        Ok(None) => {
            let cleared = clear(terminal, &ready.look, &ready.tail);
            return Said::Refused(
                Refusal::NotShown,
                format!("it did not show up on the screen and was not sent; {cleared}"),
            );
        }
        // With the session its half of a text is gone as well.
        Err(Trouble::Gone(why)) => {
            return Said::Refused(Refusal::Gone, format!("{why}, before it was sent"));
        }
        Err(Trouble::Unknown(why)) => {
            let cleared = clear(terminal, &ready.look, &ready.tail);
            return Said::Refused(Refusal::NotShown, format!("{why}; it was not sent; {cleared}"));
        }
    };
    if let Err(said) = at(Stage::Entering) {
        clear(terminal, &ready.look, &ready.tail);
        return said;
    }
    match enter(terminal, &typed) {
        Ok(true) => Said::Delivered,
        Ok(false) => {
            let cleared = clear(terminal, &ready.look, &ready.tail);
            let times = ENTER_WAITS_MS.len() + 1;
            Said::Refused(
                Refusal::NotTaken,
                format!("Enter was pressed {times} times and nothing happened; {cleared}"),
            )
        }
        Err(trouble) => Said::Refused(
            Refusal::NotKnown,
            format!("Enter was pressed, then {trouble}; whether it was taken is not known"),
        ),
    }
}

/// Everything that is known before the first letter.
struct Ready {
    look: Look,
    text: String,
    tail: String,
    paste: Paste,
}

fn prepare(
    terminal: &mut dyn Terminal,
    text: &str,
    before: Before,
) -> Result<Result<Ready, (Refusal, String)>, Trouble> {
    let mut look = terminal.look()?;
    let key = match before {
        Before::Nothing => None,
        Before::Escape => Some(Key::Escape),
        Before::Interrupt => Some(Key::Interrupt),
    };
    if let Some(key) = key {
        terminal.press(key)?;
        pause(AFTER_ESCAPE_MS);
        look = terminal.look()?;
    }
    match obstacle(&look) {
        Some(found @ (Obstacle::Asks | Obstacle::Begun)) => {
            return Ok(Err((Refusal::Obstacle, found.told().to_owned())));
        }
        Some(Obstacle::Works) | None => {}
    }
    let paste = terminal.paste_mode()?;
    let text = clean(text, paste);
    if text.trim().is_empty() {
        let why = "nothing of it can be typed: it has only control characters and blanks";
        return Ok(Err((Refusal::Nothing, why.to_owned())));
    }
    let gives_lines = |device: PathBuf| ostler_os::gives_lines(&device).unwrap_or(false);
    if text.len() > LINE_MOST && terminal.device().is_some_and(gives_lines) {
        let why = format!(
            "its program reads lines, and a line has at most {LINE_MOST} bytes; send it as mail"
        );
        return Ok(Err((Refusal::TooLong, why)));
    }
    let tail = tail(&text);
    Ok(Ok(Ready { look, text, tail, paste }))
}

/// The screen with the text on it, once it stands still; `None` if it never shows up.
fn type_and_see(terminal: &mut dyn Terminal, ready: &Ready) -> Result<Option<Look>, Trouble> {
    terminal.type_in(&ready.text, ready.paste)?;
    let began = ostler_os::mono_ms();
    let chunks = (ready.text.len() / CHUNK) as u64 * CHUNK_MS;
    let unproven_ms = (UNPROVEN_MS + chunks).min(UNPROVEN_MOST_MS);
    let mut look = loop {
        let look = terminal.look()?;
        let past = ostler_os::mono_ms() - began;
        match shown(&ready.look, &look, &ready.tail) {
            Shown::Yes => break look,
            Shown::Perhaps if past >= unproven_ms => break look,
            Shown::Perhaps | Shown::No if past < SHOWN_WITHIN_MS + chunks => pause(LOOK_EVERY_MS),
            Shown::Perhaps | Shown::No => return Ok(None),
        }
    };
    if ready.paste == Paste::Plain {
        pause(PLAIN_MS);
    }
    let began = ostler_os::mono_ms();
    while ostler_os::mono_ms() - began < STILL_WITHIN_MS {
        pause(LOOK_EVERY_MS);
        let now = terminal.look()?;
        let is_still = is_quiet(&look, &now);
        look = now;
        if is_still {
            break;
        }
    }
    Ok(Some(look))
}

/// Whether it was taken.
fn enter(terminal: &mut dyn Terminal, typed: &Look) -> Result<bool, Trouble> {
    for wait_ms in ENTER_WAITS_MS.into_iter().chain([CLEARED_WITHIN_MS]) {
        match terminal.press(Key::Enter) {
            // It may have arrived all the same: the screen tells.
            Ok(()) | Err(Trouble::Unknown(_)) => {}
            Err(gone) => return Err(gone),
        }
        if until(wait_ms, || Ok(is_taken(typed, &terminal.look()?)))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// So that it does not arrive later, with another's text behind it. Says what came of that.
pub fn clear(terminal: &mut dyn Terminal, before: &Look, tail: &str) -> &'static str {
    const LINES: usize = 8;
    if let Some(device) = terminal.device() {
        forget_unread(&device);
    }
    for _ in 0..LINES {
        if terminal.press(Key::KillLine).is_err() {
            break;
        }
        let is_gone = until(CLEARED_WITHIN_MS, || {
            let now = terminal.look()?;
            Ok(match tail.is_empty() {
                true => now.cursor == before.cursor,
                false => shown(before, &now, tail) == Shown::No,
            })
        });
        match is_gone {
            Ok(true) => return "the line was cleared",
            Ok(false) => {}
            Err(_) => break,
        }
    }
    "it may still stand in the line that is typed"
}

/// What the program has not read is taken back. More of a long text may be on its way, and takes the place of that.
fn forget_unread(device: &std::path::Path) {
    const TIMES: usize = 60;
    let mut nothing = 0;
    for _ in 0..TIMES {
        match ostler_os::forget_unread(device) {
            Ok(0) => nothing += 1,
            Ok(_) => nothing = 0,
            Err(_) => return,
        }
        if nothing == 2 {
            return;
        }
        pause(LOOK_EVERY_MS);
    }
}

/// Whether it became true in that time, and stayed so for some looks: one may fall into the middle of a picture that is
/// being drawn.
fn until(
    time_ms: u64,
    mut is_true: impl FnMut() -> Result<bool, Trouble>,
) -> Result<bool, Trouble> {
    const LOOKS: usize = 3;
    let began = ostler_os::mono_ms();
    let mut seen = 0;
    loop {
        seen = if is_true()? { seen + 1 } else { 0 };
        if seen == LOOKS {
            return Ok(true);
        }
        if seen == 0 && ostler_os::mono_ms() - began >= time_ms {
            return Ok(false);
        }
        pause(LOOK_EVERY_MS);
    }
}

fn pause(ms: u64) {
    ostler_os::nap(Duration::from_millis(ms));
}
