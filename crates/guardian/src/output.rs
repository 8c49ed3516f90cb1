//! The supervisor's standard output and standard error: `ostler.log`. A crash report shows what the supervisor wrote
//! since its start.

use ostler_sys::{utc, wall_ms};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

const PATH: &str = "ostler.log";
const OLDER: &str = "ostler.log.1";
/// A longer log is renamed to `ostler.log.1` when the next supervisor starts.
const LONG: u64 = 8 << 20;
const LINE_MOST: u64 = 8 << 10;

pub(crate) struct Output {
    file: File,
    begin: u64,
}

impl Output {
    pub(crate) fn open() -> Self {
        let is_long = std::fs::metadata(PATH).is_ok_and(|metadata| metadata.len() > LONG);
        if is_long {
            let _ = std::fs::rename(PATH, OLDER);
        }
        let open = |path: &Path| {
            let mut options = OpenOptions::new();
            options.create(true).read(true).append(true).mode(0o600);
            options.custom_flags(ostler_sys::NONBLOCK).open(path)
        };
        let is_file = |file: &File| file.metadata().is_ok_and(|metadata| metadata.is_file());
        // If the log cannot be opened, the supervisor runs without it.
        let file = match open(Path::new(PATH)) {
            Ok(file) if is_file(&file) => Ok(file),
            Ok(_) | Err(_) => open(Path::new("/dev/null")),
        };
        let file = file.unwrap_or_else(|_| File::from(stderr_again()));
        let begin = file.metadata().map_or(0, |metadata| metadata.len());
        Self { file, begin }
    }

    /// The file with the supervisor's latest lines, and the offset where its output begins. The supervisor may have
    /// rotated the log.
    pub(crate) fn latest(&self) -> io::Result<(File, u64)> {
        // A FIFO in its place is opened without waiting for a writer.
        let there = OpenOptions::new().read(true).custom_flags(ostler_sys::NONBLOCK).open(PATH);
        let (own, there) =
            (self.file.metadata()?, there.and_then(|file| Ok((file.metadata()?, file))));
        match there {
            Ok((new, file))
                if (new.dev(), new.ino()) != (own.dev(), own.ino()) && self.is_named() =>
            {
                Ok((file, 0))
            }
            Ok(_) | Err(_) => Ok((self.file.try_clone()?, self.begin)),
        }
    }

    /// Whether the file is or was `ostler.log`, and not a substitute for it.
    fn is_named(&self) -> bool {
        self.file.metadata().is_ok_and(|file| file.is_file())
    }

    /// The standard output of the supervisor to be started.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// The last line the supervisor wrote, for the process that waits for it to become ready.
    pub(crate) fn last_line(&self) -> String {
        let end = self.file.metadata().map_or(0, |metadata| metadata.len());
        let from = self.begin.max(end.saturating_sub(LINE_MOST)).min(end);
        let mut text = vec![0; (end - from) as usize];
        if self.file.read_exact_at(&mut text, from).is_err() {
            text.clear();
        }
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().next_back().unwrap_or("it exited without a message");
        line.trim_start_matches("ostler: ").to_owned()
    }
}

/// Writes a line of the guardian between the supervisor's lines.
pub(crate) fn log(text: &str) {
    let line = format!("{} guardian: {text}\n", utc(wall_ms()));
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .custom_flags(ostler_sys::NONBLOCK)
        .open(PATH);
    // A log that cannot be written is not an error.
    let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
}

#[expect(clippy::unwrap_used, reason = "stderr is always open: the guardian was started with it")]
fn stderr_again() -> std::os::fd::OwnedFd {
    rustix::io::dup(rustix::stdio::stderr()).unwrap()
}
