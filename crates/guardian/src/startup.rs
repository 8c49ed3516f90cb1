//! What the guardian sets up at its start: file descriptors, the lock, resource limits, the environment.

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Closes all inherited descriptors except stdio: the parent's caller may wait for an end of file on them.
#[expect(unsafe_code, reason = "rustix has no close_range")]
pub(crate) fn close_inherited() {
    // SAFETY: the guardian has opened no descriptor yet.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
}

pub(crate) fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// The limit as found, before `lift` raised it to the maximum: the guardian holds a few descriptors for every run.
pub(crate) struct DescriptorLimit {
    found: Rlimit,
}

impl DescriptorLimit {
    pub(crate) fn lift() -> Self {
        let found = getrlimit(Resource::Nofile);
        let most = Rlimit { current: found.maximum, maximum: found.maximum };
        let _ = setrlimit(Resource::Nofile, most);
        Self { found }
    }

    /// How many descriptors the store may hold. The others are needed to start a supervisor.
    pub(crate) fn most(&self) -> usize {
        const OWN: u64 = 40;
        self.found.maximum.unwrap_or(u64::MAX).saturating_sub(OWN) as usize
    }

    /// For the process that is executed next. Open descriptors above the limit stay open.
    pub(crate) fn restore(&self) {
        let _ = setrlimit(Resource::Nofile, self.found);
    }
}

/// Releases the memory of program text that only the start needed. It stays in the page cache and is read again when
/// used. Covers only mappings that no process can have written to.
#[expect(unsafe_code, reason = "the addresses come from /proc/self/maps, not from a Rust pointer")]
pub(crate) fn forget_text() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for line in maps.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [range, mode, offset, _, _, path] = words[..] else { continue };
        let is_header = mode == "r--p" && offset.bytes().all(|byte| byte == b'0');
        if !path.starts_with('/') || !(mode == "r-xp" || is_header) {
            continue;
        }
        let address = |text: &str| usize::from_str_radix(text, 16).ok();
        let ends = range.split_once('-').and_then(|(from, to)| address(from).zip(address(to)));
        if let Some((from, to)) = ends {
            // SAFETY: a private mapping of a file that was never written to is read again from the file.
            unsafe { libc::madvise(from as *mut libc::c_void, to - from, libc::MADV_DONTNEED) };
        }
    }
}

/// `None` if another process holds the lock.
pub(crate) fn take_lock(path: &Path) -> io::Result<Option<OwnedFd>> {
    let file =
        // A FIFO in its place is an error (ENXIO), not a wait for its reader.
        OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .custom_flags(ostler_sys::NONBLOCK)
            .open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file.into())),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
