//! What a shim leaves in files: who sits in its pane, and why it ended.

use ostler_model::{TmuxEnd, TmuxOrder, TmuxSeat};
use ostler_os::SeatNote;
use std::path::{Path, PathBuf};

/// Where a unit that lives in a session has its place now; `None` if it has none. The process may have ended since.
pub fn seat_of(home: &Path, unit: &str) -> Option<TmuxSeat> {
    let name = format!("{}.seat", TmuxOrder::note_name(unit));
    let text = std::fs::read_to_string(home.join(TmuxOrder::FOLDER).join(name)).ok()?;
    let seat: TmuxSeat = serde_json::from_str(text.split_once('\n')?.1).ok()?;
    (!seat.is_closed).then_some(seat)
}

/// Nobody has to close it any more. Who sat there is still told, until its supervisor knows that all is over.
pub(crate) fn close_seat(order: &TmuxOrder) {
    let Ok(text) = std::fs::read_to_string(order.seat_note()) else { return };
    let Some((line, seat)) = text.split_once('\n') else { return };
    let Ok(seat) = serde_json::from_str::<TmuxSeat>(seat) else { return };
    let seat = TmuxSeat { is_closed: true, ..seat };
    if let Ok(seat) = serde_json::to_string(&seat) {
        let _ = replace(Path::new(&order.seat_note()), format!("{line}\n{seat}\n").as_bytes());
    }
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
