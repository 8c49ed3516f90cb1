use std::path::{Path, PathBuf};
use thiserror::Error;

/// The error of the store itself.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// What the store's own error means for the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its contents were changed or lost.
    Damage,
    /// Its disk does not read or write.
    Disk,
    Other,
}

/// A registry error: what failed, and what helps.
#[derive(Debug, Error)]
pub enum RegistryError {
    #[error("cannot open the registry {path}; check that its folder exists and belongs to you")]
    Open { path: PathBuf, source: Cause },
    #[error(
        "{path} is not an Ostler registry, or is damaged; move it away (Ostler then creates a new one) or restore a copy"
    )]
    Corrupt { path: PathBuf, source: Cause },
    #[error(
        "the registry {path} has schema {found}, but this Ostler supports up to {known}: it was written by a newer Ostler; use that version"
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error(
        "the registry {path} belongs to another program (application id {found:#x}); choose another home"
    )]
    Foreign { path: PathBuf, found: i64 },
    #[error("the disk of the registry is full; free some space")]
    Full { source: Cause },
    #[error(
        "another program has locked the registry (for example an open transaction in sqlite3); end it or let it commit"
    )]
    Locked { source: Cause },
    #[error(
        "cannot read or write the registry {path}; check its disk, or move it away (Ostler then creates a new one)"
    )]
    Disk { path: PathBuf, source: Cause },
    #[error(
        "cannot copy the registry to {path}; without a copy the new program could not be rolled back"
    )]
    Copy { path: PathBuf, source: std::io::Error },
    #[error("cannot write the registry")]
    Write { fault: Fault, source: Cause },
    #[error("cannot read the registry")]
    Read { fault: Fault, source: Cause },
    #[error("the registry contains {value:?} where {what} is expected")]
    Value { what: &'static str, value: String },
    #[error(
        "{path} is damaged: it contains {value:?} where {what} is expected; move it away (Ostler then creates a new one) or restore a copy"
    )]
    Damaged { path: PathBuf, what: &'static str, value: String },
}

impl RegistryError {
    /// Adds the place to an error that moving the registry away would cure.
    pub fn at(self, place: &Path) -> Self {
        let path = place.to_owned();
        match self {
            Self::Write { fault: Fault::Damage, source }
            | Self::Read { fault: Fault::Damage, source } => Self::Corrupt { path, source },
            Self::Write { fault: Fault::Disk, source }
            | Self::Read { fault: Fault::Disk, source } => Self::Disk { path, source },
            Self::Value { what, value } => Self::Damaged { path, what, value },
            other => other,
        }
    }

    /// The error and its causes, in one line.
    pub fn description(&self) -> String {
        ostler_sys::error_chain(self)
    }
}
