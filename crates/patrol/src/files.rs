//! Gas Town's state files, at its paths below the patrol's root. They are for people and their tools: the patrol's own
//! state is in the registry. Each file is written under another name and renamed, so that no reader sees half of it.

use crate::error::PatrolError;
use ostler_sys::{Durability, NONBLOCK, write_atomic};
use serde::Serialize;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The paths of the state files.
#[derive(Clone, Debug)]
pub struct PatrolFiles {
    root: PathBuf,
}

impl PatrolFiles {
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn boot_marker(&self) -> PathBuf {
        self.root.join("deacon/dogs/boot/.boot-running")
    }

    pub fn boot_status(&self) -> PathBuf {
        self.root.join("deacon/dogs/boot/.boot-status.json")
    }

    pub fn health_checks(&self) -> PathBuf {
        self.root.join("deacon/health-check-state.json")
    }

    pub fn log(&self) -> PathBuf {
        self.root.join("daemon/daemon.log")
    }

    pub fn pid(&self) -> PathBuf {
        self.root.join("daemon/daemon.pid")
    }

    pub fn state(&self) -> PathBuf {
        self.root.join("daemon/state.json")
    }

    pub fn restarts(&self) -> PathBuf {
        self.root.join("daemon/restart_state.json")
    }

    pub fn paused(&self) -> PathBuf {
        self.root.join(".runtime/deacon/paused.json")
    }

    pub fn stopped(&self) -> PathBuf {
        self.root.join("ESTOP")
    }
}

/// Writes JSON, all of it or nothing.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), PatrolError> {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    write(path, text.as_bytes())
}

pub fn write(path: &Path, bytes: &[u8]) -> Result<(), PatrolError> {
    let failed = |source| PatrolError::File { path: path.to_owned(), source };
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder).map_err(failed)?;
    write_atomic(path, bytes, 0o600, Durability::Cached).map_err(failed)
}

/// Reads a file that another program may have written, if it is a regular file of at most `most` bytes. Anything else,
/// for example a pipe without a writer, is an error and does not block.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    ostler_sys::read_regular(path, most)
}

/// A file that is already gone is not an error.
pub fn remove(path: &Path) -> Result<(), PatrolError> {
    match std::fs::remove_file(path) {
        Err(source) if !is_gone(&source) => {
            Err(PatrolError::NotRemoved { path: path.to_owned(), source })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// True if the file does not exist and cannot exist.
pub fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A longer log is renamed and a new one begins.
const LOG_MOST: u64 = 4 << 20;

/// Appends a line to the patrol's log. A failure is ignored: it must not stop the tick.
pub fn log(town: &PatrolFiles, line: &str) {
    let path = town.log();
    let Some(folder) = path.parent() else { return };
    let _ = std::fs::create_dir_all(folder);
    if std::fs::metadata(&path).is_ok_and(|file| file.len() > LOG_MOST) {
        let _ = std::fs::rename(&path, path.with_extension("log.1"));
    }
    let at = stamp(ostler_os::wall_ms());
    let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let opened =
        OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(NONBLOCK).open(&path);
    let _ = opened.and_then(|mut file| file.write_all(format!("{at} {line}\n").as_bytes()));
}

/// A time in the format of Gas Town's files.
pub fn stamp(ms: u64) -> String {
    ostler_sys::utc(ms)
}
