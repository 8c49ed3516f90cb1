//! Queued nudges, and nudges that another process left half typed.

use super::find::{self, TerminalPlace};
use super::recover::recover;
use super::send::{Wanted, over, say};
use super::turn::Turn;
use super::typing::TypingOutcome;
use super::{Before, Idle, Refusal, SessionOwner, folder, is_idle, learn, receipt_of, take_turn};
use crate::connection::{Connection, Connector};
use crate::error::PatrolError;
use ostler_model::{Nudge, Receipt};
use ostler_ops::nudges::{Claim, Settle};
use std::time::Duration;

/// The process that types now also delivers queued texts, so this wait is short.
const TURN_MS: u64 = 1_000;
/// A tick has other work to do.
const WITHIN_MS: u64 = 10_000;

/// What to do while the agent works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    None,
    UntilIdle,
}

const LOOK_AGAIN: Duration = Duration::from_millis(300);

/// Types the unit's queued nudges, one after the other, while the agent is idle. Returns the settled ones.
///
/// With [`Patience::UntilIdle`], it waits while the agent works: the agent may have taken up the first text.
pub fn deliver_waiting(
    connector: &Connector,
    unit: &str,
    patience: Patience,
) -> Result<Vec<Nudge>, PatrolError> {
    let mut connection = connector.open()?;
    let mut settled = Vec::new();
    let Ok(view) = find::unit(&mut connection, unit)? else { return Ok(settled) };
    let folder = folder(&mut connection)?;
    let Ok(mut place) =
        find::place(connector, &mut connection, &folder, &view, SessionOwner::Ours)?
    else {
        return Ok(settled);
    };
    let began = ostler_os::mono_ms();
    let Some(turn) = take_turn(&folder, unit, began + TURN_MS)? else {
        return Ok(settled);
    };
    let recovered = recover(&mut connection, &turn, &mut place)?;
    settled.extend(recovered.settled);
    if recovered.left.is_some() {
        return Ok(settled);
    }
    while ostler_os::mono_ms() - began < WITHIN_MS {
        match is_idle(&mut place) {
            Idle::Yes => {}
            Idle::No(_) if patience == Patience::UntilIdle => {
                ostler_os::nap(LOOK_AGAIN);
                continue;
            }
            Idle::No(_) | Idle::Gone(_) => break,
        }
        match deliver_one(&mut connection, &turn, &mut place, unit)? {
            Some(nudge) if nudge.receipt == Receipt::Queued => break,
            Some(nudge) => settled.push(nudge),
            None => break,
        }
    }
    Ok(settled)
}

/// Delivers the next queued nudge and returns its new state; `None` if the queue is empty. A nudge that was not sent
/// goes back to the queue.
pub fn deliver_one(
    connection: &mut Connection,
    turn: &Turn,
    place: &mut TerminalPlace,
    unit: &str,
) -> Result<Option<Nudge>, PatrolError> {
    let claimed = connection.call(&Claim { to: unit.to_owned(), most: 1 })?;
    let Some(nudge) = claimed.into_iter().next() else { return Ok(None) };
    let wanted =
        Wanted { from: &nudge.from, to: unit, before: Before::Nothing, id: Some(&nudge.id) };
    let said = say(connection, turn, place, &nudge.text, &wanted);
    learn(connection, unit, &said);
    let (receipt, why) = match said.clone() {
        TypingOutcome::Delivered { proof, .. } => (Receipt::Delivered, proof),
        TypingOutcome::Refused(Refusal::Obstacle | Refusal::NotReady | Refusal::Gone, why) => {
            (Receipt::Queued, why)
        }
        TypingOutcome::Refused(refusal, why) => (receipt_of(refusal), why),
    };
    let settled = connection.call(&Settle { id: nudge.id, receipt, why })?;
    // Only now: if this process is killed earlier, its note remains.
    over(turn, place, &said);
    Ok(Some(settled))
}
