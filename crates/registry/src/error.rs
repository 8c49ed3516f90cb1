use std::path::PathBuf;
use thiserror::Error;

/// A registry error: what failed, and what helps.
#[derive(Debug, Error)]
pub enum RegistryError {
    #[error("cannot open the registry {path}; check that its folder exists and belongs to you")]
    Open { path: PathBuf, source: rusqlite::Error },
    #[error(
        "{path} is not an Ostler registry, or is damaged; move it away (Ostler then creates a new one) or restore a copy"
    )]
    Corrupt { path: PathBuf, source: rusqlite::Error },
    #[error(
        "the registry {path} has schema {found}, but this Ostler supports up to {known}: it was written by a newer Ostler; use that version"
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error(
        "the registry {path} belongs to another program (application id {found:#x}); choose another home"
    )]
    Foreign { path: PathBuf, found: i64 },
    #[error("the disk of the registry is full; free some space")]
    Full { source: rusqlite::Error },
    #[error(
        "cannot read or write the registry {path}; check its disk, or move it away (Ostler then creates a new one)"
    )]
    Disk { path: PathBuf, source: rusqlite::Error },
    #[error(
        "cannot copy the registry to {path}; without a copy the new program could not be rolled back"
    )]
    Copy { path: PathBuf, source: std::io::Error },
    #[error("cannot write the registry")]
    Write { source: rusqlite::Error },
    #[error("cannot read the registry")]
    Read { source: rusqlite::Error },
    #[error("the registry contains {value:?} where {what} is expected")]
    Value { what: &'static str, value: String },
    #[error(
        "{path} is damaged: it contains {value:?} where {what} is expected; move it away (Ostler then creates a new one) or restore a copy"
    )]
    Damaged { path: PathBuf, what: &'static str, value: String },
}

impl RegistryError {
    pub(crate) fn write(source: rusqlite::Error) -> Self {
        match source.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::Full { source },
            _ => Self::Write { source },
        }
    }

    pub(crate) fn read(source: rusqlite::Error) -> Self {
        Self::Read { source }
    }

    /// Adds the path to an error about a damaged file.
    pub fn at(self, path: &std::path::Path) -> Self {
        match self {
            Self::Write { source } | Self::Read { source } if is_damage(&source) => {
                Self::Corrupt { path: path.to_owned(), source }
            }
            Self::Write { source } | Self::Read { source }
                if source.sqlite_error_code() == Some(rusqlite::ErrorCode::SystemIoFailure) =>
            {
                Self::Disk { path: path.to_owned(), source }
            }
            Self::Value { what, value } => Self::Damaged { path: path.to_owned(), what, value },
            other => other,
        }
    }

    /// The error and its causes, in one line.
    pub fn description(&self) -> String {
        ostler_sys::error_chain(self)
    }
}

/// Whether the file's content was changed or lost. SQLite itself does not notice text that is not UTF-8, a number in
/// the wrong place, or a table with other columns than ours.
pub(crate) fn is_damage(source: &rusqlite::Error) -> bool {
    use rusqlite::{Error, ErrorCode, ffi};
    match source {
        Error::Utf8Error(..)
        | Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::SqlInputError { .. } => true,
        _ => source.sqlite_error().is_some_and(|error| match error.code {
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => true,
            _ => error.extended_code == ffi::SQLITE_IOERR_SHORT_READ,
        }),
    }
}
