//! The home's lock, limits, and small facts about files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Whoever holds this is the home's instance. It is given up by the kernel, when the last process that
/// could still act for that instance is gone: a child between its birth and its exec holds it too.
#[derive(Debug)]
pub struct HomeLock {
    file: File,
}

impl HomeLock {
    /// Whether the file we hold is still the one at this path. If the home was removed, nobody can find us
    /// any more, and another supervisor may believe itself alone.
    pub fn is_in_place(&self, path: &Path) -> bool {
        match (self.file.metadata(), std::fs::metadata(path)) {
            (Ok(held), Ok(there)) => held.dev() == there.dev() && held.ino() == there.ino(),
            (Err(_), _) => true,
            (Ok(_), Err(error)) => error.kind() != io::ErrorKind::NotFound,
        }
    }
}

/// `None` if another process holds it.
pub fn take_lock(path: &Path) -> io::Result<Option<HomeLock>> {
    let file =
        OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(HomeLock { file })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The soft and hard limit as found, for the children.
#[derive(Clone, Copy, Debug)]
pub struct Allocated {
    pub soft: Option<u64>,
    pub hard: Option<u64>,
}

/// Raises our own soft limit on descriptors to the hard one.
pub fn lift_descriptor_limit() -> Allocated {
    let found = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: found.maximum, maximum: found.maximum });
    Allocated { soft: found.current, hard: found.maximum }
}

/// Whether so few descriptors are left that they are needed for what already runs: its log, the registry,
/// and a caller who wants to end something. New ones get the lowest free number, so theirs tells.
pub fn is_last_reserve(newest: impl AsFd) -> bool {
    const RESERVE: u64 = 24;
    let number = newest.as_fd().as_raw_fd().max(0) as u64;
    getrlimit(Resource::Nofile).current.is_some_and(|limit| number + RESERVE >= limit)
}

pub fn out_of_descriptors() -> io::Error {
    io::Error::from_raw_os_error(libc::EMFILE)
}

pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0u8; N];
    let mut filled = 0;
    while filled < N {
        filled +=
            rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

pub fn umask() -> u32 {
    let mask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    rustix::process::umask(mask);
    mask.as_raw_mode()
}

/// Closes whatever our starter left open beside stdio: a supervisor that keeps a caller's pipe open keeps
/// the caller waiting for its end. To be called before anything of our own is opened.
#[expect(unsafe_code, reason = "rustix has no close_range")]
pub fn close_inherited() {
    // SAFETY: nothing of ours is open yet; the numbers belong to nobody in this process.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
}

/// What this process makes from now on is for this user alone.
pub fn be_private() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
}

pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

pub fn owner_of(path: &Path) -> io::Result<u32> {
    Ok(std::fs::metadata(path)?.uid())
}

pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(stat.f_bavail * stat.f_frsize)
}
