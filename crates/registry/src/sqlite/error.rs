//! What SQLite's errors mean for the registry.

use crate::error::{Fault, RegistryError};
use rusqlite::{Error, ErrorCode, ffi};
use std::path::Path;

pub(super) fn write_failed(source: Error) -> RegistryError {
    match source.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => RegistryError::Full { source: source.into() },
        Some(ErrorCode::DatabaseBusy) => RegistryError::Locked { source: source.into() },
        _ => RegistryError::Write { fault: fault(&source), source: source.into() },
    }
}

pub(super) fn read_failed(source: Error) -> RegistryError {
    RegistryError::Read { fault: fault(&source), source: source.into() }
}

pub(super) fn open_failed(path: &Path, source: Error) -> RegistryError {
    let path = path.to_owned();
    match fault(&source) {
        Fault::Damage => RegistryError::Corrupt { path, source: source.into() },
        Fault::Disk => RegistryError::Disk { path, source: source.into() },
        Fault::Other if source.sqlite_error_code() == Some(ErrorCode::DiskFull) => {
            RegistryError::Full { source: source.into() }
        }
        Fault::Other if source.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
            RegistryError::Locked { source: source.into() }
        }
        Fault::Other => RegistryError::Open { path, source: source.into() },
    }
}

fn fault(source: &Error) -> Fault {
    if is_damage(source) {
        Fault::Damage
    } else if source.sqlite_error_code() == Some(ErrorCode::SystemIoFailure) {
        Fault::Disk
    } else {
        Fault::Other
    }
}

/// Whether the file's content was changed or lost. SQLite itself does not notice text that is not UTF-8, a number in
/// the wrong place, or a table with other columns than ours.
fn is_damage(source: &Error) -> bool {
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
