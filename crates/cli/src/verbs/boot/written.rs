//! Files that `enable` writes for the boot system. Ostler changes only files with its mark.

use super::tool::failed;
use crate::exit::Failure;
use std::fs;
use std::io;
use std::path::Path;

/// The mark in every file that Ostler writes.
pub const MARK: &str = "Written by `ostler enable`; `ostler disable` removes it.";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    New,
    /// An older file of Ostler was replaced.
    Other,
    None,
}

/// Reads the file if Ostler wrote it. A file without the mark is an error.
pub fn read_own(path: &Path) -> Result<Option<String>, Failure> {
    let cannot = |error| failed(format!("{} cannot be read: {error}", path.display()));
    match fs::read_to_string(path) {
        Ok(text) if text.contains(MARK) => Ok(Some(text)),
        Ok(_) => Err(failed(format!(
            "{} was not written by ostler and is not changed; move it away first",
            path.display()
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot(error)),
    }
}

/// Replaces the file atomically, then calls `then`; if that fails, restores the previous file.
pub fn write_own(
    path: &Path,
    text: &str,
    then: impl FnOnce() -> Result<(), Failure>,
) -> Result<Change, Failure> {
    let before = read_own(path)?;
    let change = match &before {
        None => Change::New,
        Some(before) if before == text => Change::None,
        Some(_) => Change::Other,
    };
    if change != Change::None {
        replace(path, text)?;
    }
    then().inspect_err(|_| {
        let _ = match before {
            Some(before) => replace(path, &before),
            None => remove(path),
        };
    })?;
    Ok(change)
}

pub fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed(format!("{} cannot be removed: {error}", path.display())))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let cannot = |error| failed(format!("{} cannot be written: {error}", path.display()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(cannot)?;
    }
    ostler_sys::write_atomic(path, text.as_bytes(), 0o666, ostler_sys::Durability::Cached)
        .map_err(cannot)
}
