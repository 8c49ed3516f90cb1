//! Files that other processes may read, replace, or put something else in the place of.

use rustix::fs::OFlags;
use std::ffi::OsString;
use std::fs::{File, OpenOptions, rename};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a FIFO without waiting for its other end.
pub const NONBLOCK: i32 = OFlags::NONBLOCK.bits() as i32;

/// Reads a regular file of at most `most` bytes. Anything else, such as a FIFO or a device, is an error at once. A file
/// of `/proc` that would block is an error too.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = OpenOptions::new().read(true).custom_flags(NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("larger than {most} bytes"),
        ));
    }
    Ok(bytes)
}

/// Whether a written file must survive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The bytes are on disk before the file gets its name.
    Synced,
    /// A power cut may lose the write, but never leaves half of it.
    Cached,
}

/// Replaces a file in one piece: a reader sees the old contents or the new ones. The file has this mode, which the umask
/// reduces. On an error the old file stays, and no part file does.
pub fn write_atomic(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    durability: Durability,
) -> io::Result<()> {
    write_atomic_by(path, mode, durability, |file| file.write_all(bytes))
}

/// The same, for contents that are not in memory at once: `write` writes them to the new file.
pub fn write_atomic_by(
    path: &Path,
    mode: u32,
    durability: Durability,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let part = path.with_file_name(part_name(path)?);
    let written = write_part(&part, mode, durability, write).and_then(|()| rename(&part, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    written
}

/// Beside the file, and different for each process: two writers do not write into each other's part.
fn part_name(path: &Path) -> io::Result<OsString> {
    let name = path.file_name().ok_or_else(|| io::Error::other("the path names no file"))?;
    let mut part = name.to_owned();
    part.push(format!(".{}.new", std::process::id()));
    Ok(part)
}

fn write_part(
    path: &Path,
    mode: u32,
    durability: Durability,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    // A part that a killed process with the same pid left is replaced, never followed.
    let _ = std::fs::remove_file(path);
    let mut file = OpenOptions::new().create_new(true).write(true).mode(mode).open(path)?;
    write(&mut file)?;
    match durability {
        Durability::Synced => file.sync_all(),
        Durability::Cached => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_is_replaced_in_one_piece_with_its_mode() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        write_atomic(&path, b"one", 0o600, Durability::Synced).expect("written");
        write_atomic(&path, b"two", 0o600, Durability::Cached).expect("replaced");
        assert_eq!(read_regular(&path, 3).expect("read"), b"two");
        let mode = std::fs::metadata(&path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 1);
        assert!(
            read_regular(&path, 2).is_err_and(|error| error.kind() == io::ErrorKind::FileTooLarge)
        );
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_part() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        std::fs::create_dir(&path).expect("in the way");
        assert!(write_atomic(&path, b"one", 0o600, Durability::Cached).is_err());
        let refused = |_: &mut File| Err(io::Error::other("no more"));
        let other = folder.path().join("y");
        assert!(write_atomic_by(&other, 0o600, Durability::Cached, refused).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 1);
    }

    #[test]
    fn a_fifo_is_an_error_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("fifo");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0)
            .expect("a FIFO");
        assert!(read_regular(&path, 10).is_err());
    }
}
