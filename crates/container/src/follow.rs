//! Copies a container's output without a gap and without a repeated line, even if the engine or a shim was away
//! meanwhile.

use bollard::Docker;
use bollard::container::LogOutput;
use bollard::query_parameters::LogsOptions;
use futures_util::StreamExt;
use jiff::Timestamp;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;

/// The note is one write of fixed length, so that a reader never sees half of one.
const NOTE_BYTES: usize = 160;

/// How far the output was copied, by the engine's timestamps.
#[derive(Debug)]
pub(crate) struct CopyPosition {
    id: String,
    last: Option<Timestamp>,
    /// The number of pieces with this timestamp: the pieces of a long line have the same one.
    of_last: u64,
    note: Option<File>,
}

impl CopyPosition {
    /// The position at which the previous shim stopped with this container, or its beginning.
    pub(crate) fn of(id: &str, path: &str) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let mut words = text.split_ascii_whitespace();
        let is_same = words.next() == Some(id);
        let last = words.next().and_then(|word| word.parse().ok()).filter(|_| is_same);
        let of_last = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        let mut options = File::options();
        let note = options.write(true).create(true).truncate(false).open(path).ok();
        let place = Self { id: id.to_owned(), last, of_last, note };
        place.write();
        place
    }

    fn write(&self) {
        let Some(note) = &self.note else { return };
        let last = self.last.map_or_else(|| "-".to_owned(), |last| last.to_string());
        let mut text = format!("{} {last} {}", self.id, self.of_last).into_bytes();
        text.resize(NOTE_BYTES, b' ');
        // Without the note, a line may be repeated after the next crash, but none is lost.
        let _ = note.write_all_at(&text, 0);
    }

    /// Returns when the stream ends: the container has ended, or the engine is gone.
    pub(crate) async fn follow(&mut self, docker: &Docker) {
        let options = LogsOptions {
            follow: true,
            stdout: true,
            stderr: true,
            timestamps: true,
            // In whole seconds: pieces of that second that were copied already come again.
            since: self.last.map_or(0, |last| last.as_second() as i32),
            tail: "all".to_owned(),
            ..LogsOptions::default()
        };
        let mut known = AlreadyCopied { until: self.last, of_last: self.of_last };
        let id = self.id.clone();
        let mut stream = docker.logs(&id, Some(options));
        while let Some(Ok(output)) = stream.next().await {
            let is_error = matches!(output, LogOutput::StdErr { .. });
            if let Some((stamp, bytes)) = known.new_part(&output.into_bytes()) {
                pass(bytes, is_error);
                self.of_last = if self.last == Some(stamp) { self.of_last + 1 } else { 1 };
                self.last = Some(stamp);
                self.write();
            }
        }
    }
}

/// What was copied before this stream began.
struct AlreadyCopied {
    until: Option<Timestamp>,
    of_last: u64,
}

impl AlreadyCopied {
    /// Each piece begins with its timestamp.
    fn new_part<'a>(&mut self, piece: &'a [u8]) -> Option<(Timestamp, &'a [u8])> {
        let at = piece.iter().position(|byte| *byte == b' ').unwrap_or(piece.len());
        let stamp: Timestamp = std::str::from_utf8(&piece[..at]).ok()?.parse().ok()?;
        match self.until {
            Some(until) if stamp < until => return None,
            Some(until) if stamp == until && self.of_last > 0 => {
                self.of_last -= 1;
                return None;
            }
            Some(_) | None => {}
        }
        Some((stamp, piece.get(at + 1..).unwrap_or_default()))
    }
}

fn pass(bytes: &[u8], is_error: bool) {
    // A write error means that the reader has gone: the container goes on.
    let _ = if is_error {
        std::io::stderr().write_all(bytes)
    } else {
        let mut out = std::io::stdout();
        out.write_all(bytes).and_then(|()| out.flush())
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_was_copied_is_not_copied_again() {
        let at = |second: u32| format!("2026-01-01T00:00:0{second}.5Z");
        let mut known = AlreadyCopied { until: at(2).parse().ok(), of_last: 2 };
        let parts: Vec<bool> = [1, 2, 2, 2, 3]
            .map(|second| known.new_part(format!("{} x\n", at(second)).as_bytes()).is_some())
            .into();
        assert_eq!(parts, [false, false, false, true, true]);
        assert!(known.new_part(b"no time at all").is_none());
    }

    #[test]
    fn the_next_shim_continues_only_with_the_same_container() {
        let folder = std::env::temp_dir().join(format!("ostler-place-{}", std::process::id()));
        let path = folder.to_str().expect("text").to_owned();
        let mut place = CopyPosition::of("abc", &path);
        assert!(place.last.is_none());
        place.last = "2026-01-01T00:00:01.000000007Z".parse().ok();
        place.of_last = 3;
        place.write();
        let again = CopyPosition::of("abc", &path);
        assert_eq!((again.last, again.of_last), (place.last, 3));
        assert!(CopyPosition::of("other", &path).last.is_none());
        std::fs::remove_file(path).expect("removed");
    }
}
