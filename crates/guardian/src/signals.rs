//! Signals, read from a file descriptor.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

pub(crate) struct Signals {
    descriptor: OwnedFd,
}

impl Signals {
    #[expect(unsafe_code, reason = "rustix has no signalfd")]
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: the set is initialised before it is read; the new descriptor has no other owner.
        unsafe {
            let mut set = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&raw mut set);
            // The guardian ignores a hang-up.
            for signal in [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGQUIT, libc::SIGHUP]
            {
                libc::sigaddset(&raw mut set, signal);
            }
            if libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            let descriptor =
                libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self { descriptor: OwnedFd::from_raw_fd(descriptor) })
        }
    }

    pub(crate) fn next(&self) -> Option<i32> {
        const RECORD: usize = std::mem::size_of::<libc::signalfd_siginfo>();
        let mut record = [0u8; RECORD];
        match rustix::io::read(&self.descriptor, &mut record) {
            Ok(RECORD) => Some(i32::from_ne_bytes([record[0], record[1], record[2], record[3]])),
            _ => None,
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// A new program expects an empty signal mask.
#[expect(unsafe_code, reason = "rustix does not set signal masks")]
pub(crate) fn unblock_all() {
    // SAFETY: the set is initialised before it is read.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
    }
}
