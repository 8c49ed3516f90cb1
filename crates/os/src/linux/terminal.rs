//! The client's own terminal while it is attached to a run.

use super::pty::terminal_size;
use ostler_model::TerminalSize;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

pub fn is_terminal(descriptor: impl AsFd) -> bool {
    isatty(descriptor)
}

/// Clamped to the sizes that a run's terminal may have.
pub fn own_terminal_size() -> Option<TerminalSize> {
    let size = terminal_size(rustix::stdio::stdin());
    let size = size.or_else(|| terminal_size(rustix::stdio::stdout()));
    size.map(TerminalSize::clamped)
}

/// Raw mode: every key goes through unchanged. The terminal is restored on drop.
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

/// An event from the user or the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreground {
    /// The window changed its size.
    WindowChanged,
    /// Ctrl-C, SIGTERM, or a hang-up.
    Interrupted,
}

/// Receives the events on any thread. Create it before other threads, so that they inherit the blocked signals.
#[derive(Debug)]
pub struct ForegroundEvents {
    descriptor: OwnedFd,
}

impl ForegroundEvents {
    #[expect(unsafe_code, reason = "rustix has no signalfd")]
    pub fn listen() -> io::Result<Self> {
        // SAFETY: the set is initialised by sigemptyset before it is read; the descriptor is new.
        unsafe {
            let mut set = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&raw mut set);
            for signal in [libc::SIGWINCH, libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::sigaddset(&raw mut set, signal);
            }
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

    /// Waits for the next event, or until `other` is readable.
    pub fn wait_or(&self, other: BorrowedFd<'_>) -> io::Result<Option<Foreground>> {
        let mut watched = [
            PollFd::new(&self.descriptor, PollFlags::IN),
            PollFd::from_borrowed_fd(other, PollFlags::IN),
        ];
        loop {
            match poll(&mut watched, None) {
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // The user's event goes first.
        if watched[0].revents().is_empty() { Ok(None) } else { self.wait().map(Some) }
    }

    /// Waits for the next event.
    pub fn wait(&self) -> io::Result<Foreground> {
        let mut buffer = [0u8; std::mem::size_of::<libc::signalfd_siginfo>()];
        loop {
            match rustix::io::read(&self.descriptor, &mut buffer) {
                Ok(_) => {
                    let number = u32::from_ne_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]);
                    return Ok(if number as i32 == libc::SIGWINCH {
                        Foreground::WindowChanged
                    } else {
                        Foreground::Interrupted
                    });
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Redirects standard output to `/dev/null`: the process that waited for the report has received it.
pub fn close_report() -> io::Result<()> {
    let nothing = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(&nothing)?)
}
