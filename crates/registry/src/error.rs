use std::path::PathBuf;
use thiserror::Error;

/// What went wrong with the registry, and what would be right.
#[derive(Debug, Error)]
pub enum RegistryError {
    #[error("the registry {path} cannot be opened; check that its folder exists and is yours")]
    Open { path: PathBuf, source: rusqlite::Error },
    #[error(
        "{path} is not an Ostler registry, or is damaged; move it away (Ostler then begins a new one) or restore a copy"
    )]
    Corrupt { path: PathBuf, source: rusqlite::Error },
    #[error(
        "the registry {path} has schema {found}, this Ostler knows up to {known}: it was written by a newer Ostler; use that one"
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error(
        "the registry {path} belongs to another program (application id {found:#x}); choose another home"
    )]
    Foreign { path: PathBuf, found: i64 },
    #[error("the registry's disk is full; free some space")]
    Full { source: rusqlite::Error },
    #[error(
        "the registry {path} cannot be read or written; look after its disk, or move it away (Ostler then begins a new one)"
    )]
    Disk { path: PathBuf, source: rusqlite::Error },
    #[error(
        "no copy of the registry can be made at {path}, to go back to if the new program fails"
    )]
    Copy { path: PathBuf, source: std::io::Error },
    #[error("the registry cannot be written")]
    Write { source: rusqlite::Error },
    #[error("the registry cannot be read")]
    Read { source: rusqlite::Error },
    #[error("the registry holds {value:?} where {what} belongs")]
    Value { what: &'static str, value: String },
    #[error(
        "{path} is damaged: it holds {value:?} where {what} belongs; move it away (Ostler then begins a new one) or restore a copy"
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

    /// A damaged file is named, wherever the damage was met.
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

    /// With its causes, in one line.
    pub fn description(&self) -> String {
        ostler_sys::error_chain(self)
    }
}

/// What is in the file is not what was written, or not all of it. What SQLite itself does not notice is met as text that
/// is none, a number where none may be, or a table that has other columns than we made.
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
