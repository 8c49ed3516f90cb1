//! Writes small private files in the home.

use std::fs::{OpenOptions, rename};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes a file that only this user can read. The file is replaced atomically.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}", std::process::id()));
    let mut file =
        OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    rename(&part, path)
}
