//! The patrol's stored state.

use super::dispatch::Handle;
use super::mail::{invalid, not_kept};
use crate::find::registry_error;
use crate::server::Shared;
use ostler_model::{Actor, Mail, PatrolMemory, PatrolNote, What};
use ostler_ops::Done;
use ostler_ops::patrol::{Load, Note, Order, Save, Say};
use ostler_ops::wire::WireError;

/// Limit for one call.
const NOTES_MOST: usize = 1_000;
/// Limits for one note: its sentence, and its evidence as text.
const WHY_MOST: usize = 16 << 10;
const EVIDENCE_MOST: usize = 64 << 10;

impl Handle for Load {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<PatrolMemory, WireError> {
        shared.read(|reader| reader.patrol(shared.engine.instance())).map_err(registry_error)
    }
}

impl Handle for Save {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Done, WireError> {
        shared.engine.save_patrol(*self.0).await.map(|()| Done {}).map_err(not_kept)
    }
}

impl Handle for Say {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Done, WireError> {
        Mail::check_name(&self.agent).map_err(invalid)?;
        let said = shared.engine.report_agent(self.agent, self.said).await;
        said.map(|()| Done {}).map_err(not_kept)
    }
}

impl Handle for Order {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Done, WireError> {
        let ordered = shared.engine.order_patrol(self.seen, self.now).await;
        ordered.map(|()| Done {}).map_err(not_kept)
    }
}

impl Handle for Note {
    async fn handle(self, by: Actor, shared: &Shared) -> Result<Done, WireError> {
        let notes = self.notes;
        if notes.len() > NOTES_MOST {
            return Err(invalid(format!(
                "{} notes; a call may have at most {NOTES_MOST}",
                notes.len()
            )));
        }
        notes.iter().try_for_each(check).map_err(invalid)?;
        shared.engine.note_patrol(notes, by).await.map(|()| Done {}).map_err(not_kept)
    }
}

fn check(note: &PatrolNote) -> Result<(), String> {
    if !is_the_patrols(note.what) {
        return Err(format!("the patrol may not record {:?}", note.what.as_str()));
    }
    if let Some(unit) = &note.unit {
        Mail::check_name(unit)?;
    }
    if note.why.len() > WHY_MOST {
        return Err(format!(
            "the reason has {} bytes; at most {WHY_MOST} are allowed",
            note.why.len()
        ));
    }
    let evidence = serde_json::to_string(&note.evidence).map_or(0, |text| text.len());
    if evidence > EVIDENCE_MOST {
        return Err(format!(
            "the evidence has {evidence} bytes; at most {EVIDENCE_MOST} are allowed"
        ));
    }
    Ok(())
}

/// The patrol may only record its own decisions, not actions of the supervisor.
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
