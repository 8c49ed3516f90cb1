//! Types texts for a program without a profile. Its input line is the line with the cursor. The line is free before,
//! then holds the text, and is as before once the program has read the text. In any other case the text does not count
//! as delivered.

use super::line::{Line, clear, upto};
use super::terminal::{Editing, Key, Paste, Terminal, Trouble};
use super::typing::{LOOK_EVERY_MS, Stage, Typed, TypingOutcome, cleaned, noted, pause, press};
use super::{Before, Refusal};
use ostler_agents::cautious::{self, Obstacle};
use ostler_model::ScreenText;
use ostler_os::LINE_MOST;

/// Readline waits 500 ms for a key after Escape; Enter must not be that key.
const AFTER_ESCAPE_MS: u64 = 650;
/// How long a program may take to show the typed text.
const SHOWN_WITHIN_MS: u64 = 3_000;
const CHUNK: usize = 512;
const CHUNK_MS: u64 = 25;
/// A program without bracketed paste may treat fast keys as a paste, and Enter as part of it.
const PLAIN_MS: u64 = 150;
const STILL_WITHIN_MS: u64 = 1_000;
/// A program may filter a list a moment after the keys.
const REACTS_WITHIN_MS: u64 = 300;
const ENTER_WAITS_MS: [u64; 3] = [500, 1_000, 2_000];
const CLEARED_WITHIN_MS: u64 = 300;
/// A program that reads lines may be busy for a moment.
const READ_WITHIN_MS: u64 = 3_000;

pub(super) fn speak(
    terminal: &mut dyn Terminal,
    text: &str,
    before: Before,
    note: &mut dyn FnMut(Stage, &Typed) -> std::io::Result<()>,
) -> Result<TypingOutcome, Trouble> {
    let mut look = terminal.look()?;
    if let Some(said) = refusal(terminal, &look) {
        return Ok(said);
    }
    // In many programs Ctrl-C at a prompt exits, and in a shell Escape becomes part of the next key. Either key is
    // pressed only if the screen says that the program is working. A program that reads lines gets neither: the kernel
    // would put the key into the line.
    let works = !is_lines(terminal) && cautious::obstacle(&look) == Some(Obstacle::Works);
    let key = match before {
        Before::Nothing | Before::LimitOver => None,
        Before::Escape => works.then_some(Key::Escape),
        Before::Interrupt => works.then_some(Key::INTERRUPT),
    };
    if let Some(key) = key {
        terminal.press(key)?;
        pause(AFTER_ESCAPE_MS);
        look = terminal.look()?;
        if let Some(said) = refusal(terminal, &look) {
            return Ok(said);
        }
    }
    let paste = terminal.paste_mode()?;
    let text = match cleaned(text, paste) {
        Ok(text) => text,
        Err(said) => return Ok(said),
    };
    let editing = terminal.editing();
    // Agents run such a text instead of reading it, and without a profile it is unknown whether this program does.
    if text.trim_start().starts_with(['!', '/']) && !matches!(editing, Editing::Kernel { .. }) {
        let why = "a text that begins with ! or / may run as a command, and the program has no profile; put a word in front of it";
        return Ok(TypingOutcome::Refused(Refusal::Unsendable, why.to_owned()));
    }
    if text.len() > LINE_MOST && matches!(editing, Editing::Kernel { .. }) {
        let why = format!(
            "the program reads lines of at most {LINE_MOST} bytes, and the text is longer; send it as mail"
        );
        return Ok(TypingOutcome::Refused(Refusal::TooLong, why));
    }
    let line = Line::new(&look, &text, paste);
    if let Err(said) = noted(note, Stage::Typing, &line.typed) {
        return Ok(said);
    }
    let typed = match type_and_see(terminal, &line, &text) {
        Ok(Shown::InLine(typed)) => typed,
        Ok(Shown::Elsewhere) => {
            let (refusal, cleared) = clear(terminal, &line);
            let refusal =
                if refusal == Refusal::StillThere { refusal } else { Refusal::NotAPrompt };
            let why = format!(
                "it reacts to what is typed: other lines of its screen changed, so Enter may choose something; \
                 the text was not sent; {cleared}"
            );
            return Ok(TypingOutcome::Refused(refusal, why));
        }
        Ok(Shown::Nowhere) => {
            let is_unread = has_unread(terminal);
            let (refusal, cleared) = clear(terminal, &line);
            // A program that reads the text and shows nothing of it is alive, but has no prompt.
            let refusal = match refusal {
                Refusal::NotShown if !is_unread && !is_lines(terminal) => Refusal::NotAPrompt,
                refusal => refusal,
            };
            let why = format!(
                "the text did not appear on the screen, in the line with the cursor, and was not sent; {cleared}"
            );
            return Ok(TypingOutcome::Refused(refusal, why));
        }
        // The half-typed text is gone together with the session.
        Err(Trouble::Gone(why)) => {
            return Ok(TypingOutcome::Refused(Refusal::Gone, format!("{why}, before it was sent")));
        }
        Err(Trouble::Unknown(why)) => {
            let (refusal, cleared) = clear(terminal, &line);
            return Ok(TypingOutcome::Refused(
                refusal,
                format!("{why}; the text was not sent; {cleared}"),
            ));
        }
    };
    if let Err(said) = noted(note, Stage::Entering, &line.typed) {
        clear(terminal, &line);
        return Ok(said);
    }
    Ok(enter(terminal, &line, &typed, editing))
}

/// Why nothing may be typed now.
fn refusal(terminal: &dyn Terminal, look: &ScreenText) -> Option<TypingOutcome> {
    if terminal.editing() == Editing::Hidden {
        return Some(TypingOutcome::Refused(Refusal::Obstacle, HIDDEN.to_owned()));
    }
    if let Editing::Kernel { unread: 1.. } = terminal.editing() {
        let why = "its program has not read earlier input, so it is not ready";
        return Some(TypingOutcome::Refused(Refusal::NotReady, why.to_owned()));
    }
    let why = match cautious::obstacle(look) {
        Some(Obstacle::Asks(asked)) => {
            format!("it shows a menu or a question that the text would answer: {}", asked.text)
        }
        Some(Obstacle::Begun) if !is_lines(terminal) && !cautious::has_prompt(look) => {
            let why = "the line with the cursor has text but no prompt, so it is unknown whether the program waits for input";
            return Some(TypingOutcome::Refused(Refusal::NotReady, why.to_owned()));
        }
        Some(Obstacle::Begun | Obstacle::Works) | None => begun(terminal, look)?.to_owned(),
    };
    Some(TypingOutcome::Refused(Refusal::Obstacle, why))
}

/// Why a person may have begun to type, if so. A program that reads lines has one line at a time; in any other program
/// the line with the cursor may continue a text of several lines.
pub(super) fn begun(terminal: &dyn Terminal, look: &ScreenText) -> Option<&'static str> {
    if terminal.editing() == Editing::Hidden {
        return Some(HIDDEN);
    }
    if cautious::is_begun(look) {
        return Some("a person has begun to type in the line with the cursor");
    }
    let why = "the line with the cursor may continue a text that a person is typing";
    if !is_lines(terminal) && cautious::is_further_line(look) {
        return Some(why);
    }
    // An editor has its cursor in an empty line too, and its keys are commands.
    if !is_lines(terminal) && !cautious::has_prompt(look) && !cautious::is_framed(look) {
        return Some(
            "the line with the cursor has no prompt and no frame around it, so it is unknown whether the program \
             waits for a text",
        );
    }
    None
}

const HIDDEN: &str = "its input is hidden, as for a password, so only a person may type there";

fn has_unread(terminal: &dyn Terminal) -> bool {
    let unread = terminal.device().map(|device| ostler_os::unread(&device));
    unread.is_some_and(|unread| unread.is_ok_and(|count| count > 0))
}

/// Whether the program reads whole lines, which the kernel edits.
fn is_lines(terminal: &dyn Terminal) -> bool {
    matches!(terminal.editing(), Editing::Kernel { .. })
}

/// Where the text appeared.
enum Shown {
    /// In its line; the screen, once it stopped changing.
    InLine(ScreenText),
    /// Other lines changed as well.
    Elsewhere,
    Nowhere,
}

fn type_and_see(terminal: &mut dyn Terminal, line: &Line, text: &str) -> Result<Shown, Trouble> {
    terminal.type_in(text, line.paste)?;
    let began = ostler_os::mono_ms();
    let chunks = (line.typed.text.len() / CHUNK) as u64 * CHUNK_MS;
    let mut look = loop {
        let look = terminal.look()?;
        if line.holds(&look) {
            break look;
        }
        if ostler_os::mono_ms() - began >= SHOWN_WITHIN_MS + chunks {
            return Ok(Shown::Nowhere);
        }
        pause(LOOK_EVERY_MS);
    };
    if line.paste == Paste::Plain {
        pause(PLAIN_MS);
    }
    let began = ostler_os::mono_ms();
    while ostler_os::mono_ms() - began < STILL_WITHIN_MS {
        pause(LOOK_EVERY_MS);
        let now = terminal.look()?;
        let is_still = now.cursor == look.cursor && upto(&now) == upto(&look);
        look = now;
        if is_still {
            break;
        }
    }
    if !line.holds(&look) {
        return Ok(Shown::Nowhere);
    }
    // Only a program that reads each key can react before Enter; a list may be filtered a moment later.
    if !is_lines(terminal) {
        let began = ostler_os::mono_ms();
        while ostler_os::mono_ms() - began < REACTS_WITHIN_MS {
            if line.has_reaction(&look) {
                return Ok(Shown::Elsewhere);
            }
            pause(2 * LOOK_EVERY_MS);
            look = terminal.look()?;
        }
        if !line.holds(&look) {
            return Ok(Shown::Nowhere);
        }
    }
    Ok(Shown::InLine(look))
}

fn enter(
    terminal: &mut dyn Terminal,
    line: &Line,
    typed: &ScreenText,
    editing: Editing,
) -> TypingOutcome {
    let not_known = |trouble: &Trouble| {
        let why =
            format!("Enter was pressed, then {trouble}; it is unknown whether the text was sent");
        TypingOutcome::Refused(Refusal::NotKnown, why)
    };
    let waits = ENTER_WAITS_MS.into_iter().chain([CLEARED_WITHIN_MS]);
    let times = ENTER_WAITS_MS.len() + 1;
    for wait_ms in waits {
        if let Err(gone) = press(terminal, Key::Enter) {
            return not_known(&gone);
        }
        // The kernel echoes the input, so the echo proves nothing: only the program's read does.
        if let Editing::Kernel { .. } = editing {
            return read(terminal, line, typed);
        }
        match taken(terminal, line, typed, wait_ms) {
            Ok(Taken::Yes) => {
                let proof = "the text was in the input line, which is empty again".to_owned();
                return TypingOutcome::Delivered { proof, session: None };
            }
            Ok(Taken::Stays) => {}
            Ok(Taken::Otherwise) => {
                let (refusal, cleared) = clear(terminal, line);
                let why = format!(
                    "after Enter the input line is not empty, so it is unknown whether the text was sent; {cleared}"
                );
                let refusal =
                    if refusal == Refusal::StillThere { refusal } else { Refusal::NotKnown };
                return TypingOutcome::Refused(refusal, why);
            }
            Err(trouble) => return not_known(&trouble),
        }
    }
    let (refusal, cleared) = clear(terminal, line);
    let refusal = if refusal == Refusal::StillThere { refusal } else { Refusal::NotAPrompt };
    TypingOutcome::Refused(
        refusal,
        format!("Enter was pressed {times} times without effect; {cleared}"),
    )
}

enum Taken {
    Yes,
    /// The text is unchanged.
    Stays,
    /// The screen changed, and the input line is not empty.
    Otherwise,
}

fn taken(
    terminal: &mut dyn Terminal,
    line: &Line,
    typed: &ScreenText,
    wait_ms: u64,
) -> Result<Taken, Trouble> {
    /// A look may catch the screen half drawn.
    const LOOKS: usize = 3;
    /// A working program shows its prompt again when it is done.
    const WORKS_MS: u64 = 10_000;
    let began = ostler_os::mono_ms();
    let mut free = 0;
    let mut has_changed = false;
    loop {
        let look = terminal.look()?;
        free = if line.is_free_again(&look) { free + 1 } else { 0 };
        if free == LOOKS {
            return Ok(Taken::Yes);
        }
        let is_same = look.cursor == typed.cursor && upto(&look) == upto(typed);
        has_changed |= !is_same;
        let past_ms = ostler_os::mono_ms() - began;
        if free == 0 && !has_changed && past_ms >= wait_ms {
            return Ok(Taken::Stays);
        }
        if free == 0 && past_ms >= WORKS_MS {
            return Ok(if is_same { Taken::Stays } else { Taken::Otherwise });
        }
        pause(LOOK_EVERY_MS);
    }
}

/// Waits until a program that reads lines has read the line: then no input is pending in the terminal. A program that
/// changes the terminal's mode in the meantime may have discarded the line.
fn read(terminal: &mut dyn Terminal, line: &Line, typed: &ScreenText) -> TypingOutcome {
    let began = ostler_os::mono_ms();
    let mut has_arrived = false;
    loop {
        // Enter has arrived when the kernel has echoed it.
        has_arrived |= terminal
            .look()
            .is_ok_and(|look| look.cursor != typed.cursor || upto(&look) != upto(typed));
        match terminal.editing() {
            Editing::Kernel { unread: 0 } if has_arrived => {
                let proof = "the program read the line".to_owned();
                return TypingOutcome::Delivered { proof, session: None };
            }
            Editing::Kernel { .. } => {}
            Editing::Hidden | Editing::Program | Editing::Unknown => {
                let why = "the program changed the terminal's mode in the meantime; it is unknown whether it read the line";
                return TypingOutcome::Refused(Refusal::NotKnown, why.to_owned());
            }
        }
        if ostler_os::mono_ms() - began >= READ_WITHIN_MS {
            break;
        }
        pause(LOOK_EVERY_MS);
    }
    let unread = matches!(terminal.editing(), Editing::Kernel { unread: 1.. });
    let (refusal, cleared) = clear(terminal, line);
    match refusal {
        Refusal::Gone if !unread => {
            let why = format!("{cleared}; it is unknown whether it read the line");
            TypingOutcome::Refused(Refusal::NotKnown, why)
        }
        refusal if unread => {
            // What was unread has been discarded: only its echo is left on the screen.
            let is_left = matches!(terminal.editing(), Editing::Kernel { unread: 1.. });
            let (refusal, cleared) =
                if is_left { (refusal, cleared) } else { (Refusal::NotTaken, "it was removed") };
            TypingOutcome::Refused(refusal, format!("the program did not read the line; {cleared}"))
        }
        refusal => {
            TypingOutcome::Refused(refusal, format!("the program did not read the line; {cleared}"))
        }
    }
}
