//! The files that a shim writes: the note of the process in its pane, and the note of why it ended.

use ostler_model::{PaneRecord, TmuxEnd, TmuxOrder};
use ostler_os::PaneNote;
use ostler_sys::{Durability, write_atomic};
use std::path::Path;

/// The pane of a unit in a tmux session; `None` if the unit has none. The process may have ended since.
pub fn pane_of(home: &Path, unit: &str) -> Option<PaneRecord> {
    let name = format!("{}.pane", TmuxOrder::note_name(unit));
    let text = std::fs::read_to_string(home.join(TmuxOrder::FOLDER).join(name)).ok()?;
    let record: PaneRecord = serde_json::from_str(text.split_once('\n')?.1).ok()?;
    (!record.is_closed).then_some(record)
}

/// Marks the pane as closed: nothing is left to close. The process stays in the note until its supervisor knows that
/// the run is over.
pub(crate) fn close_pane(order: &TmuxOrder) {
    let Ok(text) = std::fs::read_to_string(order.pane_note()) else { return };
    let Some((line, record)) = text.split_once('\n') else { return };
    let Ok(record) = serde_json::from_str::<PaneRecord>(record) else { return };
    let record = PaneRecord { is_closed: true, ..record };
    if let Ok(record) = serde_json::to_string(&record) {
        let _ = replace(Path::new(&order.pane_note()), format!("{line}\n{record}\n").as_bytes());
    }
}

/// Replaces the file atomically: other processes may read it at any time.
pub(crate) fn write_pane_note(
    order: &TmuxOrder,
    note: &PaneNote,
    record: &PaneRecord,
) -> std::io::Result<()> {
    replace(Path::new(&order.pane_note()), note_text(note, record)?.as_bytes())
}

fn note_text(note: &PaneNote, record: &PaneRecord) -> serde_json::Result<String> {
    Ok(format!("{}\n{}\n", note.line(), serde_json::to_string(record)?))
}

/// A note that could not be written, for example because the disk was full. The shim tries again until it is written:
/// until then, others take the pane process for the program.
pub(crate) struct UnwrittenNote {
    path: String,
    text: String,
}

impl UnwrittenNote {
    pub(crate) const RETRY_MS: u64 = 500;

    /// Writes the note; `Some` if that has to be tried again.
    pub(crate) fn write(order: &TmuxOrder, note: &PaneNote, pane: &PaneRecord) -> Option<Self> {
        let text = note_text(note, pane).ok()?;
        Self { path: order.pane_note(), text }.retry()
    }

    /// `None` once it is written.
    pub(crate) fn retry(self) -> Option<Self> {
        match replace(Path::new(&self.path), self.text.as_bytes()) {
            Ok(()) => None,
            Err(_) => Some(self),
        }
    }
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
