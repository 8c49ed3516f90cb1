//! The home's lock, descriptor limits, and small file helpers.

use rustix::process::{Resource, getrlimit};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The holder of this lock owns the home. The kernel releases the lock when the last process that could act for the
/// instance is gone: a child between fork and exec holds it too.
#[derive(Debug)]
pub struct HomeLock {
    file: File,
}

impl HomeLock {
    /// Whether the path still names the locked file. If the home was removed, clients cannot find this supervisor, and
    /// another supervisor may start in a new home at the same path.
    pub fn is_in_place(&self, path: &Path) -> bool {
        match (self.file.metadata(), std::fs::metadata(path)) {
            (Ok(held), Ok(there)) => held.dev() == there.dev() && held.ino() == there.ino(),
            (Err(_), _) => true,
            (Ok(_), Err(error)) => error.kind() != io::ErrorKind::NotFound,
        }
    }
}

impl HomeLock {
    /// A lock that another process took and shares with this one.
    pub fn shared(descriptor: OwnedFd) -> Self {
        Self { file: File::from(descriptor) }
    }
}

impl AsFd for HomeLock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// `None` if another process holds the lock.
pub fn take_lock(path: &Path) -> io::Result<Option<HomeLock>> {
    Ok(ostler_sys::take_lock(path)?.map(|file| HomeLock { file }))
}

/// The soft and hard limit as found at the start, for the children.
#[derive(Clone, Copy, Debug)]
pub struct Allocated {
    pub soft: Option<u64>,
    pub hard: Option<u64>,
}

/// Raises the soft limit on descriptors to the hard limit.
pub fn lift_descriptor_limit() -> Allocated {
    let found = ostler_sys::lift_descriptor_limit();
    Allocated { soft: found.current, hard: found.maximum }
}

const RESERVE: u64 = 24;

/// Whether so few descriptors are left that they are reserved for what already runs: its log, the registry, and a
/// client that stops a run. A new descriptor gets the lowest free number, so `newest` shows how many are in use.
pub fn is_last_reserve(newest: impl AsFd) -> bool {
    let number = newest.as_fd().as_raw_fd().max(0) as u64;
    number + RESERVE >= descriptor_limit()
}

/// Whether this descriptor is in the range that clients do not get: it is reserved for restarting units. The range is
/// larger than the last reserve, so that units still find some.
pub fn is_kept_from_callers(newest: impl AsFd) -> bool {
    let limit = descriptor_limit();
    let number = newest.as_fd().as_raw_fd().max(0) as u64;
    number + RESERVE + (limit / 8).clamp(8, 64) >= limit
}

/// Like `is_kept_from_callers`, for a run that a client requests. With a low limit, only the last reserve is kept.
pub fn is_kept_from_new_runs(newest: impl AsFd) -> bool {
    const FEW: u64 = 256;
    if descriptor_limit() < FEW { is_last_reserve(newest) } else { is_kept_from_callers(newest) }
}

/// The soft limit on descriptors of this process.
pub(crate) fn descriptor_limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
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

/// Makes files that this process creates from now on accessible to this user alone.
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

/// The size of the path's file system.
pub fn total_bytes(path: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(stat.f_blocks * stat.f_frsize)
}

/// A small memfd, which exists as long as a process holds it.
#[derive(Clone, Debug)]
pub struct Note {
    file: Arc<File>,
}

impl Note {
    pub fn new() -> io::Result<Self> {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        Ok(Self::held(rustix::fs::memfd_create("ostler-note", flags)?))
    }

    pub fn held(descriptor: OwnedFd) -> Self {
        Self { file: Arc::new(File::from(descriptor)) }
    }

    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, 0)
    }

    pub fn read(&self, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(bytes, 0)
    }
}

impl AsFd for Note {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// A memfd, for data that must outlive this process but must not be on a disk.
pub fn memory_file(bytes: &[u8]) -> io::Result<OwnedFd> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let file = File::from(rustix::fs::memfd_create("ostler-kept", flags)?);
    file.write_all_at(bytes, 0)?;
    Ok(file.into())
}

pub fn read_memory_file(descriptor: OwnedFd) -> io::Result<Vec<u8>> {
    let file = File::from(descriptor);
    let mut bytes = vec![0; usize::try_from(file.metadata()?.len()).unwrap_or(0)];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// Whether this process has the file at this path open. A process that reused the pid does not.
pub fn holds_open(pid: i32, path: &Path) -> bool {
    let (Ok(meant), Ok(held)) =
        (std::fs::metadata(path), std::fs::read_dir(format!("/proc/{pid}/fd")))
    else {
        return false;
    };
    held.flatten().any(|entry| {
        std::fs::metadata(entry.path())
            .is_ok_and(|found| found.dev() == meant.dev() && found.ino() == meant.ino())
    })
}

/// Whether this process executes the file at this path.
pub fn executes(pid: i32, path: &Path) -> bool {
    match (std::fs::metadata(format!("/proc/{pid}/exe")), std::fs::metadata(path)) {
        (Ok(found), Ok(meant)) => found.dev() == meant.dev() && found.ino() == meant.ino(),
        (Err(_), _) | (_, Err(_)) => false,
    }
}

/// Our own executable: its path, or `/proc/self/exe` if the file was replaced or removed.
pub fn own_executable() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    Ok(if path.exists() { path } else { PathBuf::from("/proc/self/exe") })
}

/// Every process of this user that has the file open, with its command line.
pub fn holders(path: &Path) -> Vec<(i32, Vec<String>)> {
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    all.flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| holds_open(*pid, path))
        .map(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&line);
            (pid, words.split('\0').map(str::to_owned).collect())
        })
        .collect()
}

/// If standard error is the file at `path`, renames it to `older` and redirects standard output and error to a new file
/// at `path`.
pub fn rotate_output(path: &Path, older: &Path) -> io::Result<()> {
    let own = rustix::fs::fstat(rustix::stdio::stderr())?;
    let there = std::fs::metadata(path)?;
    if (own.st_dev, own.st_ino) != (there.dev(), there.ino()) {
        return Ok(());
    }
    std::fs::rename(path, older)?;
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    rustix::stdio::dup2_stdout(&file)?;
    rustix::stdio::dup2_stderr(&file)?;
    Ok(())
}
