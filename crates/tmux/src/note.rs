//! The files that a shim writes: the note of the process in its pane, and the note of why it ended.

use ostler_model::{PaneRecord, TmuxEnd, TmuxOrder};
use ostler_os::PaneNote;
use ostler_sys::{Durability, write_atomic};
use std::path::Path;

/// The pane of a unit in a tmux session; `None` if the unit has none. The process may have ended since.
pub fn pane_of(home: &Path, unit: &str) -> Option<PaneRecord> {
    let name = format!("{}.pane", TmuxOrder::note_name(unit));
    let text = std::fs::read_to_string(home.join(TmuxOrder::FOLDER).join(name)).ok()?;
    let pane_slot: PaneRecord = serde_json::from_str(text.split_once('\n')?.1).ok()?;
    (!pane_slot.is_closed).then_some(pane_slot)
}

/// Marks the pane as closed: nothing is left to close. The process stays in the note until its supervisor knows that
/// the run is over.
pub(crate) fn close_pane(order: &TmuxOrder) {
    let Ok(text) = std::fs::read_to_string(order.pane_note()) else { return };
    let Some((line, pane_slot)) = text.split_once('\n') else { return };
    let Ok(pane_slot) = serde_json::from_str::<PaneRecord>(pane_slot) else { return };
    let pane_slot = PaneRecord { is_closed: true, ..pane_slot };
    if let Ok(pane_slot) = serde_json::to_string(&pane_slot) {
        let _ = replace(Path::new(&order.pane_note()), format!("{line}\n{pane_slot}\n").as_bytes());
    }
}

/// Replaces the file atomically: other processes may read it at any time.
pub(crate) fn write_pane_note(
    order: &TmuxOrder,
    note: &PaneNote,
    pane_slot: &PaneRecord,
) -> std::io::Result<()> {
    let text = format!("{}\n{}\n", note.line(), serde_json::to_string(pane_slot)?);
    replace(Path::new(&order.pane_note()), text.as_bytes())
}

pub(crate) fn write_end(order: &TmuxOrder, end: &TmuxEnd) {
    if let Ok(text) = serde_json::to_vec(end) {
        // Without the note, the log still has the reason.
        let _ = replace(Path::new(&order.end_note()), &text);
    }
}

fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    write_atomic(path, bytes, 0o600, Durability::Cached)
}
