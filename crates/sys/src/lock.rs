use crate::NONBLOCK;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Creates the file and locks it; `None` if another process holds the lock. The kernel releases the lock when the last
/// descriptor of this open file is closed. A FIFO in the file's place is an error at once.
pub fn take_lock(path: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .custom_flags(NONBLOCK)
        .open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_one_holder_and_a_shared_descriptor_keeps_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        let held = take_lock(&path).expect("locked").expect("it was free");
        let shared = held.try_clone().expect("a descriptor");
        drop(held);
        assert!(take_lock(&path).expect("asked").is_none());
        drop(shared);
        assert!(take_lock(&path).expect("asked").is_some());
    }
}
