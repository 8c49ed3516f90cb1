//! The caller's own terminal, while it is lent to a run.

use super::pty::terminal_size;
use ostler_model::TerminalSize;
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

pub fn is_terminal(descriptor: impl AsFd) -> bool {
    isatty(descriptor)
}

pub fn own_terminal_size() -> Option<TerminalSize> {
    terminal_size(rustix::stdio::stdin()).or_else(|| terminal_size(rustix::stdio::stdout()))
}

/// Every key goes through while this lives; the terminal is put back when it is dropped.
#[derive(Debug)]
pub struct RawMode {
    before: Termios,
}

impl RawMode {
    pub fn enter() -> io::Result<Self> {
        let before = tcgetattr(rustix::stdio::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, &raw)?;
        Ok(Self { before })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, &self.before);
    }
}

/// Readable whenever the window changed its size.
#[derive(Debug)]
pub struct WindowChanges {
    descriptor: OwnedFd,
}

impl WindowChanges {
    #[expect(unsafe_code, reason = "rustix has no signalfd")]
    pub fn listen() -> io::Result<Self> {
        // SAFETY: the set is initialised by sigemptyset before it is read; the descriptor is new.
        unsafe {
            let mut set = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGWINCH);
            if libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            let descriptor = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self { descriptor: OwnedFd::from_raw_fd(descriptor) })
        }
    }

    /// Waits for the next change.
    pub fn wait(&self) -> io::Result<()> {
        let mut buffer = [0u8; std::mem::size_of::<libc::signalfd_siginfo>()];
        loop {
            match rustix::io::read(&self.descriptor, &mut buffer) {
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsRawFd for WindowChanges {
    fn as_raw_fd(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }
}
