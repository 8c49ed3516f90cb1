//! Nudges: texts that Ostler types into a unit's terminal, each with a receipt.
//!
//! Only one process at a time types into a unit (`turn`). A unit's terminal is a tmux pane (`pane`) or a terminal of
//! the supervisor (`own_terminal`). `find` looks it up by the unit's name, together with the agent in it (`agent`).
//! Both kinds of terminal share the typing code (`typing`): by the agent's profile (`with_profile`), or cautiously
//! without one (`without_profile`). `proof` reads what the agent itself wrote down. A text that cannot be typed now
//! waits in the registry, behind the control socket.

mod agent;
mod find;
mod line;
mod modes;
mod own_terminal;
mod pane;
mod proof;
mod recover;
mod send;
mod terminal;
mod text;
mod turn;
mod typing;
mod waiting;
mod with_profile;
mod without_profile;

use crate::connection::{Connection, Connector};
use crate::error::PatrolError;
use crate::screen::digest;
use find::TerminalPlace;
use ostler_agents::cautious::{self, Obstacle};
use ostler_model::AgentState;
use ostler_model::{NudgeDraft, Priority, Receipt, ScreenText, UnitState, letter_id};
use ostler_ops::daemon::Ping;
use ostler_ops::nudges::Queue;
use ostler_ops::units::Wake;
use send::{Wanted, say};
use std::path::{Path, PathBuf};
use std::time::Duration;
use turn::Turn;
use typing::TypingOutcome;

pub use agent::{Agent, book, own_profiles};
pub use waiting::{Patience, deliver_waiting};

/// How long to wait while another process types.
const TURN_MS: u64 = 30_000;
/// How long a suspended unit may take to resume.
const WAKE_WITHIN: Duration = Duration::from_secs(60);
/// How long the agent may work before the text is queued.
const IDLE_WITHIN_MS: u64 = 15_000;
/// The agent is idle if its screen does not change for this long.
const IDLE_MS: u64 = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Type when the agent is idle. If it is not idle within 15 s, queue the text.
    WaitIdle,
    Queue,
    Immediate,
}

/// The key to press before the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    Nothing,
    Escape,
    /// Ctrl-C
    Interrupt,
    /// No key. A usage limit that is still on the screen does not block the text.
    LimitOver,
}

#[derive(Clone, Copy, Debug)]
pub struct NudgeRequest<'a> {
    pub from: &'a str,
    /// The unit's name.
    pub to: &'a str,
    pub text: &'a str,
    pub mode: Mode,
    pub before: Before,
    pub priority: Priority,
    /// How long the text may stay in the queue.
    pub life_ms: Option<u64>,
}

/// The result of a nudge.
#[derive(Clone, Debug)]
pub struct NudgeOutcome {
    pub receipt: Receipt,
    pub why: String,
    /// The id of the queued nudge.
    pub id: Option<String>,
    pub refusal: Option<Refusal>,
}

/// Why a text was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    NoSuchUnit,
    NotRunning,
    NoTerminal,
    /// No character of it can be typed.
    Nothing,
    /// The program reads lines, and the text is longer than the longest line.
    TooLong,
    /// The agent would take the text as a command, or would exit.
    Unsendable,
    /// Another process is typing there.
    Taken,
    /// The prompt has not appeared yet.
    NotReady,
    /// A menu, a question, or a line that a person has begun.
    Obstacle,
    /// The terminal is gone, and nothing was sent.
    Gone,
    NotShown,
    NotTaken,
    /// The program has read the text and does something else with it than a prompt does. The text was taken back.
    NotAPrompt,
    /// Typed, not sent, and could not be removed again.
    StillThere,
    /// Whether the text arrived is unknown.
    NotKnown,
    /// The queue is full.
    Full,
}

/// Which tmux sessions a nudge may type into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionOwner {
    Ours,
    /// Also a session that has the unit's name but was not made by Ostler.
    Anyones,
}

/// Whether the text names its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    Sender,
    None,
}

/// The nudge as the patrol sends it.
pub fn nudge(
    connector: &Connector,
    speech: &NudgeRequest<'_>,
) -> Result<NudgeOutcome, PatrolError> {
    nudge_as(connector, speech, SessionOwner::Anyones, Prefix::Sender)
}

pub fn nudge_as(
    connector: &Connector,
    speech: &NudgeRequest<'_>,
    owner: SessionOwner,
    prefix: Prefix,
) -> Result<NudgeOutcome, PatrolError> {
    let mut connection = connector.open()?;
    let text = match prefix {
        Prefix::Sender => format!("[from {}] {}", speech.from, speech.text),
        Prefix::None => speech.text.to_owned(),
    };
    let mut found = match find::unit(&mut connection, speech.to)? {
        Ok(found) => found,
        Err((refusal, why)) => return Ok(refused(refusal, why)),
    };
    if found.view.is_asleep() && speech.mode != Mode::Queue {
        wake(&mut connection, speech)?;
        if let Ok(awake) = find::unit(&mut connection, speech.to)? {
            found = awake;
        }
    }
    let view = &found.view;
    let folder = folder(&mut connection)?;
    let place = || find::place(connector, &mut connector.open()?, &folder, &found, owner);
    match speech.mode {
        Mode::Queue => match place()? {
            Err((refusal @ Refusal::NoTerminal, why)) => Ok(refused(refusal, why)),
            Ok(_) | Err(_) => queue(&mut connection, speech, text, "queue mode"),
        },
        Mode::Immediate => match place()? {
            Ok(place) => at_once(&mut connection, &folder, speech, &text, place),
            Err((refusal, why)) => Ok(refused(refusal, why)),
        },
        Mode::WaitIdle if view.state == UnitState::Queued => {
            let why = format!("it waits for a free slot in its pool: {}", view.why);
            queue(&mut connection, speech, text, &why)
        }
        Mode::WaitIdle => match place()? {
            Ok(place) => {
                let again = |connection: &mut Connection| {
                    let Ok(found) = find::unit(connection, speech.to)? else { return Ok(None) };
                    Ok(find::place(connector, &mut connector.open()?, &folder, &found, owner)?.ok())
                };
                when_idle(&mut connection, &folder, speech, text, place, again)
            }
            Err((refusal, why)) => Ok(refused(refusal, why)),
        },
    }
}

/// Resumes a suspended unit before the text is typed.
fn wake(connection: &mut Connection, speech: &NudgeRequest<'_>) -> Result<(), PatrolError> {
    let (name, why) = (speech.to.to_owned(), format!("a nudge from {}", speech.from));
    connection.call(&Wake { name, why })?;
    connection.wait_longer(WAKE_WITHIN)?;
    connection.settled(speech.to).map(|_| ())
}

fn at_once(
    connection: &mut Connection,
    folder: &Path,
    speech: &NudgeRequest<'_>,
    text: &str,
    mut place: TerminalPlace,
) -> Result<NudgeOutcome, PatrolError> {
    let until = ostler_os::mono_ms() + TURN_MS;
    let Some(turn) = take_turn(folder, speech.to, until)? else {
        return Ok(refused(
            Refusal::Taken,
            "another process is typing there and did not finish within 30 s".to_owned(),
        ));
    };
    if let Some(left) = recover::recover(connection, &turn, &mut place)?.left {
        return Ok(refused(Refusal::Obstacle, left));
    }
    let said = say(connection, &turn, &mut place, text, &Wanted::now(speech));
    learn(connection, speech.to, &said);
    Ok(spoken(said))
}

fn when_idle(
    connection: &mut Connection,
    folder: &Path,
    speech: &NudgeRequest<'_>,
    text: String,
    mut place: TerminalPlace,
    again: impl Fn(&mut Connection) -> Result<Option<TerminalPlace>, PatrolError>,
) -> Result<NudgeOutcome, PatrolError> {
    let began = ostler_os::mono_ms();
    loop {
        let Some(turn) = take_turn(folder, speech.to, began + TURN_MS)? else {
            return queue(connection, speech, text, "another process is typing there");
        };
        let left = recover::recover(connection, &turn, &mut place)?.left;
        let busy = match left.map_or_else(|| is_idle(&mut place), Idle::No) {
            // Queued texts come first. The turn is released between them, so that other processes need not wait for all
            // of them.
            Idle::Yes
                if waiting::deliver_one(connection, &turn, &mut place, speech.to)?.is_some() =>
            {
                continue;
            }
            Idle::Yes => match say(connection, &turn, &mut place, &text, &Wanted::now(speech)) {
                // The agent was idle a moment ago: look again.
                TypingOutcome::Refused(Refusal::Obstacle | Refusal::NotReady, why) => why,
                // An agent may draw its input box before it reads input. The text was removed, so it can be tried
                // again.
                TypingOutcome::Refused(Refusal::NotTaken, why) if place.agent.is_some() => why,
                said => {
                    learn(connection, speech.to, &said);
                    return Ok(spoken(said));
                }
            },
            Idle::No(why) => why,
            Idle::Gone(why) => return Ok(refused(Refusal::Gone, why)),
        };
        // Other processes get their turn between two looks.
        drop(turn);
        if place.agent.is_none() {
            // The agent's program may run by now.
            place = match again(connection)? {
                Some(found) => found,
                None => place,
            };
        }
        if ostler_os::mono_ms() - began >= IDLE_WITHIN_MS {
            return queue(
                connection,
                speech,
                text,
                &format!("the agent was not idle within 15 s: {busy}"),
            );
        }
        ostler_os::nap(Duration::from_millis(IDLE_MS));
    }
}

enum Idle {
    Yes,
    No(String),
    Gone(String),
}

/// An agent with a profile is judged by its screen. Any other program is idle if its screen does not change and shows
/// nothing that forbids typing.
fn is_idle(place: &mut TerminalPlace) -> Idle {
    match look_idle(place) {
        Ok(None) => Idle::Yes,
        Ok(Some(why)) => Idle::No(why),
        Err(terminal::Trouble::Gone(why)) => Idle::Gone(why),
        Err(terminal::Trouble::Unknown(why)) => Idle::No(why),
    }
}

/// Returns why the agent is not idle.
fn look_idle(place: &mut TerminalPlace) -> Result<Option<String>, terminal::Trouble> {
    if let Some(why) = place.unready()? {
        return Ok(Some(why));
    }
    let first = place.terminal.look()?;
    if let Some(agent) = place.agent.as_ref().filter(|agent| agent.profile.input.is_some()) {
        let judged = agent.judge(&first);
        if judged.state == AgentState::Working {
            return Ok(Some(format!("it is working ({})", judged.evidence)));
        }
        return Ok(with_profile::obstacle(&judged).map(|(_, why)| why));
    }
    ostler_os::nap(Duration::from_millis(IDLE_MS));
    let then = place.terminal.look()?;
    Ok(match cautious::obstacle(&then) {
        Some(Obstacle::Works) => {
            Some("it is working: its screen shows how to interrupt it".to_owned())
        }
        Some(Obstacle::Asks(asked)) => Some(format!("it asks a question: {}", asked.text)),
        Some(Obstacle::Begun) => Some("a person has begun to type there".to_owned()),
        None if is_quiet(&first, &then) => {
            without_profile::begun(&*place.terminal, &then).map(str::to_owned)
        }
        None => Some("its screen is changing".to_owned()),
    })
}

fn is_quiet(before: &ScreenText, now: &ScreenText) -> bool {
    let is_still =
        !(before.cursor.is_visible && now.cursor.is_visible) || before.cursor == now.cursor;
    is_still && digest(&before.lines) == digest(&now.lines)
}

/// The place where the agent wrote the text down reveals its conversation.
fn learn(connection: &mut Connection, unit: &str, said: &TypingOutcome) {
    if let TypingOutcome::Delivered { session: Some(session), .. } = said {
        connection.learn_session(unit, session);
    }
}

fn queue(
    connection: &mut Connection,
    speech: &NudgeRequest<'_>,
    text: String,
    why: &str,
) -> Result<NudgeOutcome, PatrolError> {
    let no_random = |source| PatrolError::File { path: "/dev/urandom".into(), source };
    let draft = NudgeDraft {
        id: Some(letter_id(ostler_os::wall_ms(), ostler_os::random().map_err(no_random)?)),
        from: speech.from.to_owned(),
        to: speech.to.to_owned(),
        text,
        priority: speech.priority,
        life_ms: speech.life_ms,
    };
    let nudge = connection.call(&Queue(draft))?;
    Ok(match nudge.receipt {
        Receipt::Refused => refused(Refusal::Full, nudge.why),
        receipt @ (Receipt::Queued | Receipt::Delivered | Receipt::Expired | Receipt::NotSent) => {
            NudgeOutcome { receipt, why: why.to_owned(), id: Some(nudge.id), refusal: None }
        }
    })
}

fn spoken(said: TypingOutcome) -> NudgeOutcome {
    match said {
        TypingOutcome::Delivered { proof, .. } => {
            NudgeOutcome { receipt: Receipt::Delivered, why: proof, id: None, refusal: None }
        }
        TypingOutcome::Refused(refusal, why) => refused(refusal, why),
    }
}

fn refused(refusal: Refusal, why: String) -> NudgeOutcome {
    NudgeOutcome { receipt: receipt_of(refusal), why, id: None, refusal: Some(refusal) }
}

/// `Refused` means that nothing of the text is left in the terminal.
fn receipt_of(refusal: Refusal) -> Receipt {
    match refusal {
        Refusal::StillThere | Refusal::NotKnown => Receipt::NotSent,
        Refusal::NoSuchUnit
        | Refusal::NotRunning
        | Refusal::NoTerminal
        | Refusal::Nothing
        | Refusal::TooLong
        | Refusal::Unsendable
        | Refusal::Taken
        | Refusal::NotReady
        | Refusal::Obstacle
        | Refusal::Gone
        | Refusal::NotShown
        | Refusal::NotTaken
        | Refusal::NotAPrompt
        | Refusal::Full => Receipt::Refused,
    }
}

/// The nudges folder in the supervisor's home.
fn folder(connection: &mut Connection) -> Result<PathBuf, PatrolError> {
    let pong = connection.call(&Ping::ours())?;
    Ok(PathBuf::from(pong.home).join("nudges"))
}

fn take_turn(folder: &Path, unit: &str, until_ms: u64) -> Result<Option<Turn>, PatrolError> {
    Turn::take(folder, unit, until_ms)
        .map_err(|source| PatrolError::File { path: folder.to_owned(), source })
}
