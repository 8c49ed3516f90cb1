//! Types one text and keeps a note of it for the next process.

use super::find::TerminalPlace;
use super::turn::{Turn, UnfinishedTyping};
use super::typing::{Stage, Typed, TypingOutcome, speak};
use super::{Before, NudgeRequest, Refusal};
use crate::connection::Connection;
use ostler_model::{NudgeDraft, Priority, Receipt, letter_id};
use ostler_ops::nudges::Queue;

/// How a text is to be sent.
pub(super) struct Wanted<'a> {
    pub(super) from: &'a str,
    pub(super) to: &'a str,
    pub(super) before: Before,
    /// The id of the queued nudge, if it was one.
    pub(super) id: Option<&'a str>,
}

impl<'a> Wanted<'a> {
    pub(super) fn now(speech: &NudgeRequest<'a>) -> Self {
        Self { from: speech.from, to: speech.to, before: speech.before, id: None }
    }
}

/// Types the text. A note records the progress, in case this process dies.
pub(super) fn say(
    connection: &mut Connection,
    turn: &Turn,
    place: &mut TerminalPlace,
    text: &str,
    wanted: &Wanted<'_>,
) -> TypingOutcome {
    match place.unready() {
        Ok(None) => {}
        Ok(Some(why)) => return TypingOutcome::Refused(Refusal::NotReady, why),
        Err(trouble) => return TypingOutcome::Refused(Refusal::Gone, trouble.to_string()),
    }
    let run = place.run.clone();
    let TerminalPlace { terminal, agent, .. } = place;
    let mut note = |stage, typed: &Typed| match stage {
        Stage::Returned => return_to_queue(connection, wanted, &typed.text),
        Stage::Typing | Stage::Entering => turn.begin(&UnfinishedTyping {
            id: wanted.id.map(str::to_owned),
            run: run.clone(),
            typed: typed.clone(),
            is_entered: stage == Stage::Entering,
            is_left: false,
        }),
    };
    let said = speak(&mut **terminal, agent.as_ref(), text, wanted.before, &mut note);
    if wanted.id.is_none() {
        over(turn, place, &said);
    }
    said
}

/// Queues a message that was interrupted before the agent answered it. It is sent again when the agent is idle.
fn return_to_queue(
    connection: &mut Connection,
    wanted: &Wanted<'_>,
    text: &str,
) -> std::io::Result<()> {
    let draft = NudgeDraft {
        id: Some(letter_id(ostler_os::wall_ms(), ostler_os::random()?)),
        from: wanted.from.to_owned(),
        to: wanted.to.to_owned(),
        text: text.to_owned(),
        priority: Priority::Normal,
        life_ms: None,
    };
    let nudge = connection.call(&Queue(draft)).map_err(std::io::Error::other)?;
    match nudge.receipt {
        Receipt::Queued => Ok(()),
        Receipt::Delivered | Receipt::Expired | Receipt::Refused | Receipt::NotSent => {
            Err(std::io::Error::other("its queue is full"))
        }
    }
}

/// With a profile, the screen shows whether text is left in the input box. Without one, the note must record it.
pub(super) fn over(turn: &Turn, place: &TerminalPlace, said: &TypingOutcome) {
    match said {
        TypingOutcome::Refused(Refusal::StillThere, _) if place.agent.is_none() => turn.leave(),
        TypingOutcome::Refused(Refusal::StillThere, _) => turn.leave_for_next(),
        TypingOutcome::Refused(..) | TypingOutcome::Delivered { .. } => turn.over(),
    }
}
