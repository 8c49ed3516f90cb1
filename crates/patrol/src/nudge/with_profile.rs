//! Types texts for an agent that has a profile.

use super::agent::Agent;
use super::proof::{Found, Proof, newest_messages};
use super::recover::Remains;
use super::terminal::{Editing, Key, Paste, Terminal, Trouble};
use super::typing::{
    LOOK_EVERY_MS, Stage, Typed, TypingOutcome, cleaned, forget_unread, noted, pause, press,
};
use super::{Before, Refusal};
use ostler_agents::{AfterKey, Holds, InputBox, InputTable, Judged, WhileBusy};
use ostler_model::AgentState;

/// How long a busy agent may take to stop after Escape or Ctrl-C.
const STOPPED_WITHIN_MS: u64 = 5_000;
/// How soon after the interrupt the agent's last message is back in its input box.
const BACK_WITHIN_MS: u64 = 700;
/// How often Enter is pressed while the text stays in the input box.
const ENTERS: usize = 3;
const ENTER_WAIT_MS: u64 = 1_500;
/// How long an agent may take to record a message after it left the input box.
const WRITTEN_WITHIN_MS: u64 = 8_000;
const CLEARED_WITHIN_MS: u64 = 400;
const CLEAR_KEYS: usize = 40;
/// How much longer an agent may take to show a text that it has read.
const LATE_MS: u64 = 15_000;
/// The markers around a bracketed paste.
const PASTE_MARKS: usize = "\x1b[200~\x1b[201~".len();

pub(super) fn speak(
    terminal: &mut dyn Terminal,
    agent: &Agent,
    text: &str,
    before: Before,
    note: &mut dyn FnMut(Stage, &Typed) -> std::io::Result<()>,
) -> Result<TypingOutcome, Trouble> {
    let Some(table) = agent.profile.input.as_ref() else {
        return Ok(TypingOutcome::Refused(
            Refusal::NotReady,
            "its profile defines no input box".to_owned(),
        ));
    };
    let mut talk = Talk { terminal, agent, table };
    match talk.say(text, before, note) {
        Ok(said) | Err(Stop::Said(said)) => Ok(said),
        Err(Stop::Trouble(trouble)) => Err(trouble),
    }
}

/// Removes a text whose typing process died, if the input box holds nothing else.
pub(super) fn recover(terminal: &mut dyn Terminal, agent: &Agent, typed: &str) -> Remains {
    /// Text that was in transit may appear a moment later.
    const WITHIN_MS: u64 = 400;
    let Some(table) = agent.profile.input.as_ref() else { return Remains::None };
    forget_unread(terminal);
    let mut talk = Talk { terminal, agent, table };
    let began = ostler_os::mono_ms();
    loop {
        let Ok(judged) = talk.look() else { return Remains::None };
        match judged.input {
            Some(found) if !found.is_empty() && found.is_part_of(typed) => break,
            // A person's text is left alone.
            Some(found) if !found.is_empty() => return Remains::None,
            Some(_) | None if ostler_os::mono_ms() - began >= WITHIN_MS => return Remains::None,
            Some(_) | None => pause(LOOK_EVERY_MS),
        }
    }
    match talk.take_back(typed) {
        Ok(true) => Remains::TakenBack,
        Ok(false) | Err(_) => Remains::StillThere,
    }
}

/// Why nothing may be typed now.
pub(super) fn obstacle(judged: &Judged) -> Option<(Refusal, String)> {
    if let Some(asked) = judged.dialogue.as_ref().filter(|_| judged.state == AgentState::Waiting) {
        let why = format!("it waits for a person to answer: {}", asked.text);
        return Some((Refusal::Obstacle, why));
    }
    match judged.state {
        AgentState::Waiting => {
            let why = format!("it waits for a person ({})", judged.evidence);
            return Some((Refusal::Obstacle, why));
        }
        AgentState::Limited => {
            let why = format!("its provider refuses requests (usage limit): {}", judged.evidence);
            return Some((Refusal::Obstacle, why));
        }
        AgentState::Starting | AgentState::Working | AgentState::Idle | AgentState::Unknown => {}
    }
    match &judged.input {
        None => Some((Refusal::NotReady, "its input box is not on the screen".to_owned())),
        Some(found) if !found.is_empty() => {
            Some((Refusal::Obstacle, "a person has begun to type there".to_owned()))
        }
        Some(_) if judged.menu => Some((Refusal::Obstacle, "a completion list is open".to_owned())),
        Some(_) => None,
    }
}

enum Stop {
    Said(TypingOutcome),
    Trouble(Trouble),
}

impl From<TypingOutcome> for Stop {
    fn from(said: TypingOutcome) -> Self {
        Stop::Said(said)
    }
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        Stop::Trouble(trouble)
    }
}

fn refused(refusal: Refusal, why: impl Into<String>) -> Stop {
    Stop::Said(TypingOutcome::Refused(refusal, why.into()))
}

struct Talk<'a> {
    terminal: &'a mut dyn Terminal,
    agent: &'a Agent,
    table: &'a InputTable,
}

impl Talk<'_> {
    fn say(
        &mut self,
        text: &str,
        before: Before,
        note: &mut dyn FnMut(Stage, &Typed) -> std::io::Result<()>,
    ) -> Result<TypingOutcome, Stop> {
        self.ready(text, before, note)?;
        let paste = self.terminal.paste_mode()?;
        let text = cleaned(text, Paste::Bracketed)?;
        if paste != Paste::Bracketed {
            return Err(refused(Refusal::NotReady, "its program does not accept pasted text yet"));
        }
        let rules = &self.agent.profile.send;
        let typed = rules.typed(&text).map_err(|why| refused(Refusal::Unsendable, why))?;
        let proof = Proof::begin(self.agent);
        let noting = Typed { text: typed.clone(), ..Typed::default() };
        noted(note, Stage::Typing, &noting)?;
        match self.terminal.type_in(&typed, paste) {
            Ok(()) | Err(Trouble::Unknown(_)) => {}
            Err(gone) => return Err(gone.into()),
        }
        self.typed(&typed)?;
        pause(rules.enter_after_ms);
        self.close_menu(&typed)?;
        if let Err(said) = noted(note, Stage::Entering, &noting) {
            self.take_back(&typed)?;
            return Err(said.into());
        }
        self.enter(&text, &typed, proof.as_ref())
    }

    fn look(&mut self) -> Result<Judged, Trouble> {
        let screen = self.terminal.look()?;
        Ok(self.agent.judge(&screen))
    }

    /// Checks that nothing forbids typing, and interrupts the agent if requested.
    fn ready(
        &mut self,
        text: &str,
        before: Before,
        note: &mut dyn FnMut(Stage, &Typed) -> std::io::Result<()>,
    ) -> Result<(), Stop> {
        if let Editing::Kernel { .. } | Editing::Hidden = self.terminal.editing() {
            return Err(refused(Refusal::NotReady, "its program has not set up its terminal yet"));
        }
        let judged = self.look()?;
        // The usage limit is over; only the message about it is still on the screen.
        let is_reported_on =
            before == Before::LimitOver && judged.input.as_ref().is_some_and(InputBox::is_empty);
        match obstacle(&judged) {
            Some(_) if is_reported_on && judged.state == AgentState::Limited => {}
            Some((refusal, why)) => return Err(refused(refusal, why)),
            None => {}
        }
        let keys = &self.agent.profile.keys;
        let is_busy = judged.state == AgentState::Working;
        // At an idle prompt neither key helps: Ctrl-C ends some agents.
        let key = match before {
            Before::Nothing | Before::LimitOver => None,
            Before::Escape if is_busy && keys.escape.busy == AfterKey::Interrupts => {
                Some(Key::Escape)
            }
            Before::Interrupt if is_busy && keys.interrupt.busy == AfterKey::Interrupts => {
                Some(Key::INTERRUPT)
            }
            Before::Interrupt if is_busy && keys.escape.busy == AfterKey::Interrupts => {
                Some(Key::Escape)
            }
            Before::Escape | Before::Interrupt => None,
        };
        let Some(key) = key else {
            let rules = &self.agent.profile.send;
            let waits = rules.while_busy == WhileBusy::Unknown
                || rules.not_while_busy.iter().any(|pattern| pattern.is_match(text));
            if is_busy && waits {
                let why = format!("it is working ({})", judged.evidence);
                return Err(refused(Refusal::Obstacle, why));
            }
            return Ok(());
        };
        self.terminal.press(key)?;
        let began = ostler_os::mono_ms();
        loop {
            pause(5 * LOOK_EVERY_MS);
            let judged = self.look()?;
            let is_over = ostler_os::mono_ms() - began >= STOPPED_WITHIN_MS;
            if judged.state != AgentState::Working || is_over {
                // An unanswered message returns to the input box a moment later.
                pause(BACK_WITHIN_MS);
                self.keep_returned(note)?;
                let judged = self.look()?;
                return match obstacle(&judged) {
                    Some((refusal, why)) => Err(refused(refusal, why)),
                    None => Ok(()),
                };
            }
        }
    }

    /// Queues a message that the agent put back into its input box, and removes it from there. Text that a person typed
    /// stays.
    fn keep_returned(
        &mut self,
        note: &mut dyn FnMut(Stage, &Typed) -> std::io::Result<()>,
    ) -> Result<(), Stop> {
        let Some(found) = self.look()?.input.filter(|found| !found.is_empty()) else {
            return Ok(());
        };
        let is_it = |message: &String| {
            matches!(found.holds(message, self.table), Holds::Exactly | Holds::ItsEnd)
        };
        let Some(text) = newest_messages(self.agent).into_iter().rev().find(is_it) else {
            return Ok(());
        };
        noted(note, Stage::Returned, &Typed { text: text.clone(), ..Typed::default() })?;
        self.take_back(&text)?;
        Ok(())
    }

    /// Waits until the input box holds the text at two looks in a row.
    fn typed(&mut self, typed: &str) -> Result<(), Stop> {
        let within_ms = self.agent.profile.send.shown_within_ms + typed.len() as u64 / 20;
        let began = ostler_os::mono_ms();
        let mut before: Option<InputBox> = None;
        let mut unread = None;
        loop {
            let judged = self.look()?;
            let is_over = ostler_os::mono_ms() - began >= within_ms;
            let holds = judged.input.as_ref().map(|found| found.holds(typed, self.table));
            match (holds, is_over) {
                (Some(Holds::Exactly | Holds::ItsEnd | Holds::StandIn), _)
                    if before == judged.input =>
                {
                    return Ok(());
                }
                (_, false) => {}
                (None | Some(Holds::Nothing), true) => {
                    let unread = *unread.get_or_insert_with(|| forget_unread(self.terminal));
                    // Exactly our paste is unread: the program has read nothing of it. A different count may include
                    // the terminal's own replies.
                    if unread == (typed.len() + PASTE_MARKS) as u64 {
                        let why = "its program did not read the text, and it was removed";
                        return Err(refused(Refusal::NotShown, why));
                    }
                    // A program on a busy machine may show the text late.
                    let is_late = ostler_os::mono_ms() - began >= within_ms + LATE_MS;
                    if let Some(asked) = judged.dialogue.as_ref() {
                        let why = format!(
                            "it asked a question after the text was typed: {}; the text was not sent and may appear later",
                            asked.text
                        );
                        return Err(refused(Refusal::StillThere, why));
                    }
                    if is_late {
                        let why = "the text did not appear in the input box; it was not sent and may appear later";
                        return Err(refused(Refusal::StillThere, why));
                    }
                }
                (Some(_), true) => {
                    return Err(self.not_sent("the input box holds another text", typed)?);
                }
            }
            before = judged.input;
            pause(LOOK_EVERY_MS);
        }
    }

    /// With an open completion list, Enter would pick an entry instead of sending the text.
    fn close_menu(&mut self, typed: &str) -> Result<(), Stop> {
        let judged = self.look()?;
        if !judged.menu {
            return Ok(());
        }
        let keys = self.agent.profile.keys.close_menu.clone();
        for key in keys.iter().filter_map(|word| Key::parse(word)) {
            press(self.terminal, key)?;
            pause(300);
        }
        let judged = self.look()?;
        let holds = judged.input.as_ref().map(|found| found.holds(typed, self.table));
        match holds {
            Some(Holds::Exactly | Holds::ItsEnd | Holds::StandIn) if !judged.menu => Ok(()),
            _ => Err(self.not_sent("a completion list opened", typed)?),
        }
    }

    fn enter(
        &mut self,
        text: &str,
        typed: &str,
        proof: Option<&Proof>,
    ) -> Result<TypingOutcome, Stop> {
        for _ in 0..ENTERS {
            press(self.terminal, Key::Enter)?;
            let began = ostler_os::mono_ms();
            loop {
                if let Some(said) = proof.and_then(|proof| written(proof, text)) {
                    return Ok(said);
                }
                let judged = match self.look() {
                    Ok(judged) => judged,
                    Err(trouble) => return Ok(self.lost(text, proof, &trouble)),
                };
                let holds = judged.input.as_ref().map(|found| found.holds(typed, self.table));
                let past_ms = ostler_os::mono_ms() - began;
                match holds {
                    // The text left the box, or the box itself is gone: the agent may ask a question at once.
                    Some(Holds::Nothing) | None if past_ms >= 3 * LOOK_EVERY_MS => {
                        return self.left(text, proof, &judged);
                    }
                    Some(Holds::Nothing) | None => {}
                    Some(Holds::Exactly | Holds::ItsEnd | Holds::StandIn) if !judged.menu => {
                        if past_ms >= ENTER_WAIT_MS {
                            break;
                        }
                    }
                    Some(_) if past_ms >= ENTER_WAIT_MS => {
                        return Err(
                            self.not_sent("Enter changed the text instead of sending it", typed)?
                        );
                    }
                    Some(_) => {}
                }
                pause(LOOK_EVERY_MS);
            }
        }
        let why = format!("Enter was pressed {ENTERS} times and the text stayed in the box");
        let stop = self.not_sent(&why, typed)?;
        // A slow agent may have accepted Enter after all: then the box is empty because the text was sent.
        match proof.and_then(|proof| written_soon(proof, text)) {
            Some(said) => Ok(said),
            None => Err(stop),
        }
    }

    /// The text is no longer in the input box. If the agent records its messages, the text must be among them.
    fn left(
        &mut self,
        text: &str,
        proof: Option<&Proof>,
        judged: &Judged,
    ) -> Result<TypingOutcome, Stop> {
        let seen = "it left the input box".to_owned();
        let Some(proof) = proof else {
            return Ok(TypingOutcome::Delivered { proof: seen, session: None });
        };
        if let Some(said) = written_soon(proof, text) {
            return Ok(said);
        }
        let mut is_there = |state| self.look().is_ok_and(|judged| judged.state == state);
        if judged.state == AgentState::Working || is_there(AgentState::Working) {
            // The text is in the agent's own queue, which not every agent records.
            let proof = format!("{seen} while it works");
            return Ok(TypingOutcome::Delivered { proof, session: None });
        }
        let why = format!("{seen}, but the agent did not record it in its conversation");
        Ok(TypingOutcome::Refused(Refusal::NotKnown, why))
    }

    fn lost(&self, text: &str, proof: Option<&Proof>, trouble: &Trouble) -> TypingOutcome {
        let began = ostler_os::mono_ms();
        while ostler_os::mono_ms() - began < 1_000 {
            if let Some(said) = proof.and_then(|proof| written(proof, text)) {
                return said;
            }
            pause(2 * LOOK_EVERY_MS);
        }
        let why =
            format!("Enter was pressed, then {trouble}; it is unknown whether the text was sent");
        TypingOutcome::Refused(Refusal::NotKnown, why)
    }

    /// Refused if the text could be removed. Otherwise it stays in the box, and the receipt says so.
    fn not_sent(&mut self, why: &str, typed: &str) -> Result<Stop, Trouble> {
        Ok(if self.take_back(typed)? {
            refused(Refusal::NotTaken, format!("{why}; the text was removed"))
        } else {
            let shown = self.look()?.input.map(|found| found.text).unwrap_or_default();
            let shown: String = shown.chars().take(80).collect();
            refused(Refusal::StillThere, format!("{why}; the input box holds {shown:?}"))
        })
    }

    /// Removes our text, but only while the input box holds nothing else: a person's text stays.
    fn take_back(&mut self, typed: &str) -> Result<bool, Trouble> {
        forget_unread(self.terminal);
        let keys: Vec<Key> =
            self.agent.profile.keys.clear.iter().filter_map(|word| Key::parse(word)).collect();
        for _ in 0..CLEAR_KEYS {
            match self.look()?.input {
                Some(found) if found.is_empty() => return Ok(true),
                Some(found) if found.is_part_of(typed) => {}
                Some(_) | None => return Ok(false),
            }
            for key in &keys {
                press(self.terminal, *key)?;
            }
            let began = ostler_os::mono_ms();
            while ostler_os::mono_ms() - began < CLEARED_WITHIN_MS {
                if self.look()?.input.is_some_and(|found| found.is_empty()) {
                    return Ok(true);
                }
                pause(LOOK_EVERY_MS);
            }
        }
        Ok(false)
    }
}

/// The result from the agent's own conversation, within the time that the agent may take to record it.
fn written_soon(proof: &Proof, text: &str) -> Option<TypingOutcome> {
    let began = ostler_os::mono_ms();
    while ostler_os::mono_ms() - began < WRITTEN_WITHIN_MS {
        if let Some(said) = written(proof, text) {
            return Some(said);
        }
        pause(2 * LOOK_EVERY_MS);
    }
    None
}

/// The result from the agent's own conversation, if it has one by now.
fn written(proof: &Proof, text: &str) -> Option<TypingOutcome> {
    match proof.look(text) {
        Found::Nothing => None,
        Found::Alone { session } => Some(TypingOutcome::Delivered {
            proof: "the agent recorded it in its conversation".to_owned(),
            session,
        }),
        Found::Mixed { with } => Some(TypingOutcome::Refused(
            Refusal::NotKnown,
            format!("the text was sent together with another text: {with:?}"),
        )),
    }
}
