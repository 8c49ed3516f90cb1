//! Stop signals as a file descriptor, for a process that only waits.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// Create it before other threads, so that they inherit the blocked signals.
#[derive(Debug)]
pub struct StopListener {
    descriptor: OwnedFd,
}

impl StopListener {
    #[expect(unsafe_code, reason = "rustix has no signalfd")]
    pub fn listen() -> io::Result<Self> {
        // SAFETY: the set is initialised by sigemptyset before it is read; the descriptor is new.
        unsafe {
            let mut set = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&raw mut set);
            for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
                libc::sigaddset(&raw mut set, signal);
            }
            if libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
            let descriptor = libc::signalfd(-1, &raw const set, flags);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self { descriptor: OwnedFd::from_raw_fd(descriptor) })
        }
    }

    /// Whether a stop signal came since the last call.
    pub fn take(&self) -> bool {
        let mut buffer = [0u8; std::mem::size_of::<libc::signalfd_siginfo>()];
        let mut came = false;
        while matches!(rustix::io::read(&self.descriptor, &mut buffer), Ok(length) if length > 0) {
            came = true;
        }
        came
    }
}

impl AsFd for StopListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
