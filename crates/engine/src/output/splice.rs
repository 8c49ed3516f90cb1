//! The siphon between runs and logs, with a note of whose bytes are in it.

use super::segment::StreamKind;
use ostler_model::RunId;
use ostler_os::{Note, Siphon};
use std::io;
use std::os::fd::AsFd;

pub(super) struct NotedSiphon {
    pub(super) siphon: Siphon,
    note: Note,
    noted: Option<(RunId, StreamKind)>,
}

impl NotedSiphon {
    pub(super) fn new(siphon: Siphon, note: Note) -> Self {
        Self { siphon, note, noted: None }
    }

    /// The note comes first: bytes are never in the siphon without it.
    pub(super) fn take(
        &mut self,
        run: RunId,
        kind: StreamKind,
        source: impl AsFd,
        most: usize,
    ) -> io::Result<Option<usize>> {
        if self.noted != Some((run, kind)) {
            let mut text = [0; 17];
            text[..16].copy_from_slice(run.bytes());
            text[16] = kind as u8;
            self.note.write(&text)?;
            self.noted = Some((run, kind));
        }
        self.siphon.take(source, most)
    }
}

/// Whose bytes are in a siphon that was left to us.
pub(crate) fn left_over(siphon: &Siphon, note: &Note) -> Option<(RunId, StreamKind)> {
    let mut text = [0; 17];
    if siphon.held_bytes() == 0 || note.read(&mut text).is_err() {
        return None;
    }
    let mut id = [0; 16];
    id.copy_from_slice(&text[..16]);
    let kind = if text[16] == 0 { StreamKind::Stdout } else { StreamKind::Stderr };
    Some((RunId::from_bytes(id), kind))
}
