//! The document's state files, at its paths under the town's root. They are for people and their tools: what the patrol
//! itself remembers is in the registry. Each is written beside its place and moved there, so that nobody reads half of one.

use crate::error::PatrolError;
use ostler_os::NO_WAITING;
use ostler_sys::{Durability, write_atomic};
use serde::Serialize;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Where things are in a town.
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

/// As JSON, in one piece or not at all.
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

/// What others wrote, as far as it is a file and not longer than this. Whatever lies there in its place, a pipe that
/// nobody writes to for one, is an error, and nobody waits for it.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    ostler_sys::read_regular(path, most)
}

/// Gone already is gone.
pub fn remove(path: &Path) -> Result<(), PatrolError> {
    match std::fs::remove_file(path) {
        Err(source) if !is_gone(&source) => {
            Err(PatrolError::NotRemoved { path: path.to_owned(), source })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Nothing is there, and nothing can be.
pub fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// More than that, and what is oldest of it goes.
const LOG_MOST: u64 = 4 << 20;

/// A line of the town's log. That it cannot be written is no reason to do nothing else.
pub fn log(town: &PatrolFiles, line: &str) {
    let path = town.log();
    let Some(folder) = path.parent() else { return };
    let _ = std::fs::create_dir_all(folder);
    if std::fs::metadata(&path).is_ok_and(|file| file.len() > LOG_MOST) {
        let _ = std::fs::rename(&path, path.with_extension("log.1"));
    }
    let at = stamp(ostler_os::wall_ms());
    let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let opened = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(NO_WAITING)
        .open(&path);
    let _ = opened.and_then(|mut file| file.write_all(format!("{at} {line}\n").as_bytes()));
}

/// As the documents write a time.
pub fn stamp(ms: u64) -> String {
    let at = jiff::Timestamp::from_millisecond(ms as i64).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
