//! Where the supervisor writes: `ostler.log`. What it wrote since it was started is what a crash shows.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

const PATH: &str = "ostler.log";
const OLDER: &str = "ostler.log.1";
/// Past this it is put aside when the next supervisor is started.
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
            OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(path)
        };
        // What cannot be written down goes on all the same.
        let file = open(Path::new(PATH)).or_else(|_| open(Path::new("/dev/null")));
        let file = file.unwrap_or_else(|_| File::from(stderr_again()));
        let begin = file.metadata().map_or(0, |metadata| metadata.len());
        Self { file, begin }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn begin(&self) -> u64 {
        self.begin
    }

    /// The last it said, for whoever waits for it to be ready.
    pub(crate) fn last_line(&self) -> String {
        let end = self.file.metadata().map_or(0, |metadata| metadata.len());
        let from = self.begin.max(end.saturating_sub(LINE_MOST)).min(end);
        let mut text = vec![0; (end - from) as usize];
        if self.file.read_exact_at(&mut text, from).is_err() {
            text.clear();
        }
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().next_back().unwrap_or("it ended without a word");
        line.trim_start_matches("ostler: ").to_owned()
    }
}

#[expect(clippy::unwrap_used, reason = "stderr is always open: we were started with it")]
fn stderr_again() -> std::os::fd::OwnedFd {
    rustix::io::dup(rustix::stdio::stderr()).unwrap()
}
