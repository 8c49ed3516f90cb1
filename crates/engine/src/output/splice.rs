//! The splice pipe between runs and logs, with a note of which run its bytes belong to.

use super::segment::StreamKind;
use ostler_model::RunId;
use ostler_os::{Note, SplicePipe};
use std::io;
use std::os::fd::AsFd;

pub(super) struct OutputSplice {
    pub(super) splice_pipe: SplicePipe,
    note: Note,
    noted: Option<(RunId, StreamKind)>,
}

impl OutputSplice {
    pub(super) fn new(splice_pipe: SplicePipe, note: Note) -> Self {
        Self { splice_pipe, note, noted: None }
    }

    /// Writes the note first: the pipe never holds bytes without it.
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
        self.splice_pipe.take(source, most)
    }
}

/// The run whose bytes are in an inherited splice pipe.
pub(crate) fn left_over(splice_pipe: &SplicePipe, note: &Note) -> Option<(RunId, StreamKind)> {
    let mut text = [0; 17];
    if splice_pipe.held_bytes() == 0 || note.read(&mut text).is_err() {
        return None;
    }
    let mut id = [0; 16];
    id.copy_from_slice(&text[..16]);
    let kind = if text[16] == 0 { StreamKind::Stdout } else { StreamKind::Stderr };
    Some((RunId::from_bytes(id), kind))
}
