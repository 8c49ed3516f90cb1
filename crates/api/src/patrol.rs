//! What the patrol remembers, at the door.

use crate::find::{error, registry_error};
use crate::mail::not_kept;
use crate::server::Shared;
use ostler_model::wire::{Answer, ErrorCode, WireError};
use ostler_model::{Actor, Mail, PatrolCall, PatrolNote, What};

/// Of one call.
const NOTES_MOST: usize = 1_000;
/// Of one note: its sentence, and its evidence as text.
const WHY_MOST: usize = 16 << 10;
const EVIDENCE_MOST: usize = 64 << 10;

pub(crate) async fn patrol(
    call: PatrolCall,
    by: Actor,
    shared: &Shared,
) -> Result<Answer, WireError> {
    let engine = &shared.engine;
    match call {
        PatrolCall::Load => {
            return shared
                .read(|reader| reader.patrol(engine.instance()))
                .map(|memory| Answer::Patrol(Box::new(memory)))
                .map_err(registry_error);
        }
        PatrolCall::Save(save) => engine.save_patrol(save).await,
        PatrolCall::Say { agent, said } => {
            Mail::check_name(&agent).map_err(invalid)?;
            engine.say_of_agent(agent, said).await
        }
        PatrolCall::Order { seen, now } => engine.order_patrol(seen, now).await,
        PatrolCall::Note(notes) => {
            if notes.len() > NOTES_MOST {
                return Err(invalid(format!("{} notes; at most {NOTES_MOST} a call", notes.len())));
            }
            notes.iter().try_for_each(check).map_err(invalid)?;
            engine.note_patrol(notes, by).await
        }
    }
    .map(|()| Answer::Asked)
    .map_err(not_kept)
}

fn check(note: &PatrolNote) -> Result<(), String> {
    if !is_the_patrols(note.what) {
        return Err(format!("{:?} is not the patrol's to tell", note.what.as_str()));
    }
    if let Some(unit) = &note.unit {
        Mail::check_name(unit)?;
    }
    if note.why.len() > WHY_MOST {
        return Err(format!("a reason of {} bytes; at most {WHY_MOST}", note.why.len()));
    }
    let evidence = serde_json::to_string(&note.evidence).map_or(0, |text| text.len());
    if evidence > EVIDENCE_MOST {
        return Err(format!("evidence of {evidence} bytes; at most {EVIDENCE_MOST}"));
    }
    Ok(())
}

/// The journal tells what the supervisor did; nobody else can say that of it.
fn is_the_patrols(what: What) -> bool {
    matches!(
        what,
        What::PatrolLooked
            | What::PatrolDecided
            | What::PatrolActed
            | What::TriageAsked
            | What::Escalated
            | What::EscalationOver
            | What::MassDeath
            | What::LifecycleAsked
            | What::Nudged
            | What::AgentAnswered
            | What::HandedOff
            | What::BreakerOpened
    )
}

fn invalid(message: String) -> WireError {
    error(ErrorCode::InvalidRequest, message)
}
