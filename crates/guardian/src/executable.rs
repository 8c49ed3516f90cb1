//! The executable of a supervisor. The guardian holds the file open, so that it stays the same program when the file at
//! its path is replaced or removed.

use rustix::fs::{Mode, OFlags, fstat, open, stat};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

pub(crate) struct Executable {
    path: PathBuf,
    file: OwnedFd,
}

impl Executable {
    pub(crate) fn own() -> io::Result<Self> {
        let path = std::fs::read_link("/proc/self/exe")?;
        Ok(Self { path, file: open_path(Path::new("/proc/self/exe"))? })
    }

    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), file: open_path(path)? })
    }

    pub(crate) fn shown(&self) -> std::path::Display<'_> {
        self.path.display()
    }

    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.file
    }

    /// The path to execute: the path of the file while it still names this file, else `/proc/self/fd/N` of `held`,
    /// which belongs to the caller.
    pub(crate) fn to_execute(&self, held: &OwnedFd) -> PathBuf {
        let is_same = match (stat(&self.path), fstat(&self.file)) {
            (Ok(there), Ok(held)) => (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino),
            _ => false,
        };
        if is_same {
            return self.path.clone();
        }
        PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()))
    }
}

fn open_path(path: &Path) -> io::Result<OwnedFd> {
    Ok(open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}
