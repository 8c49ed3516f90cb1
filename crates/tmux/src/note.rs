//! What a shim leaves in files: who sits in its pane, and why it ended.

use ostler_model::{TmuxEnd, TmuxOrder, TmuxSeat};
use ostler_os::SeatNote;
use std::path::{Path, PathBuf};

/// Where a unit that lives in a session has its place now; `None` if it has none. The process may have ended since.
pub fn seat_of(home: &Path, unit: &str) -> Option<TmuxSeat> {
    let name = format!("{}.seat", TmuxOrder::note_name(unit));
    read_seat(&home.join(TmuxOrder::FOLDER).join(name))
}

fn read_seat(path: &Path) -> Option<TmuxSeat> {
    let text = std::fs::read_to_string(path).ok()?;
    serde_json::from_str(text.split_once('\n')?.1).ok()
}

/// Whole or not at all: others read it while it is written.
pub(crate) fn write_seat(
    order: &TmuxOrder,
    note: &SeatNote,
    seat: &TmuxSeat,
) -> std::io::Result<()> {
    let text = format!("{}\n{}\n", note.line(), serde_json::to_string(seat)?);
    replace(Path::new(&order.seat_note()), text.as_bytes())
}

pub(crate) fn write_end(order: &TmuxOrder, end: &TmuxEnd) {
    if let Ok(text) = serde_json::to_vec(end) {
        // Without it, its log still says why.
        let _ = replace(Path::new(&order.end_note()), &text);
    }
}

fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".new");
    let part = PathBuf::from(part);
    std::fs::write(&part, bytes)?;
    std::fs::rename(part, path)
}
