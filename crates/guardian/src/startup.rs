//! What we find when we begin: descriptors, the lock, limits, the environment.

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Whatever our starter left open beside stdio: its caller may wait for its end.
#[expect(unsafe_code, reason = "rustix has no close_range")]
pub(crate) fn close_inherited() {
    // SAFETY: nothing of ours is open yet.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
}

pub(crate) fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// What we found before we raised it to what we may have: we hold a few descriptors for every run.
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

    /// How many we may hold for others: some are needed to start a supervisor.
    pub(crate) fn most(&self) -> usize {
        const OWN: u64 = 40;
        self.found.maximum.unwrap_or(u64::MAX).saturating_sub(OWN) as usize
    }

    /// For whoever comes after us; what is open beyond it stays open.
    pub(crate) fn restore(&self) {
        let _ = setrlimit(Resource::Nofile, self.found);
    }
}

/// What starting needed and resting does not: program text stays in the page cache and comes back when it is
/// used. Only what nobody can have written to.
#[expect(unsafe_code, reason = "rustix wants a pointer of ours; these are the program's")]
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

/// `None` if it is another's.
pub(crate) fn take_lock(path: &Path) -> io::Result<Option<OwnedFd>> {
    let file =
        OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file.into())),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
