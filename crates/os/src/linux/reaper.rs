//! The only place that waits for children, and the signals that the supervisor handles.
//!
//! Every child of this process is reaped here: the first processes of the runs, and orphans of their trees, because the
//! supervisor is the subreaper of its descendants.

use super::process::{Ending, last_errno};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// Makes this process the subreaper: its orphaned descendants become its children.
pub fn become_reaper() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(io::Error::from)
}

/// A received signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    ChildChanged,
    StopAsked,
    /// Exit for a successor; the runs go on.
    HandOverAsked,
}

/// Runs `work` on its own thread and returns its result. The signals that the reaper handles reach no other thread. A
/// thread that starts children must tell them from the orphans.
pub fn beside_first_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    block(&listened()?)?;
    let thread = std::thread::Builder::new().name("dispatcher".to_owned()).spawn(work)?;
    thread.join().map_err(|_| io::Error::other("the dispatcher thread panicked"))
}

#[expect(unsafe_code, reason = "rustix has no signal sets")]
fn listened() -> io::Result<libc::sigset_t> {
    // SAFETY: the set is initialised by sigemptyset before it is read.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut set);
        for signal in
            [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGUSR2]
        {
            if libc::sigaddset(&raw mut set, signal) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(set)
    }
}

#[expect(unsafe_code, reason = "rustix does not block signals")]
fn block(set: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: an initialised set.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set, std::ptr::null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// The exits that the guardian reaped for the supervisor, as the guardian reports them: eight bytes each.
pub fn read_ends(reports: impl AsFd) -> Vec<Reaped> {
    const RECORD: usize = 8;
    let mut ends = Vec::new();
    let mut buffer = [0u8; RECORD * 512];
    while let Ok(length) = rustix::io::read(&reports, &mut buffer) {
        if length == 0 {
            break;
        }
        for record in buffer[..length].chunks_exact(RECORD) {
            let pid = i32::from_ne_bytes([record[0], record[1], record[2], record[3]]);
            let status = i32::from_ne_bytes([record[4], record[5], record[6], record[7]]);
            ends.push(Reaped { pid, ending: Ending::from_wait_status(status) });
        }
    }
    ends
}

/// One reaped child.
#[derive(Clone, Copy, Debug)]
pub struct Reaped {
    pub pid: i32,
    pub ending: Ending,
}

/// Create it before any other thread, so that all threads inherit the blocked signals.
#[derive(Debug)]
pub struct Reaper {
    descriptor: OwnedFd,
}

impl Reaper {
    #[expect(unsafe_code, reason = "rustix has no signalfd")]
    pub fn new() -> io::Result<Self> {
        let set = listened()?;
        block(&set)?;
        // SAFETY: an initialised set.
        let descriptor =
            unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new descriptor without another owner.
        Ok(Self { descriptor: unsafe { OwnedFd::from_raw_fd(descriptor) } })
    }

    /// The signals since the last call. A hang-up of the starting terminal is ignored.
    pub fn notices(&self) -> Vec<Notice> {
        const RECORD: usize = std::mem::size_of::<libc::signalfd_siginfo>();
        let mut notices = Vec::new();
        let mut buffer = [0u8; RECORD * 8];
        while let Ok(length) = rustix::io::read(&self.descriptor, &mut buffer) {
            for record in buffer[..length].chunks_exact(RECORD) {
                let number = u32::from_ne_bytes([record[0], record[1], record[2], record[3]]);
                let notice = match number as i32 {
                    libc::SIGCHLD => Notice::ChildChanged,
                    libc::SIGTERM | libc::SIGINT | libc::SIGQUIT => Notice::StopAsked,
                    libc::SIGUSR2 => Notice::HandOverAsked,
                    _ => continue,
                };
                if !notices.contains(&notice) {
                    notices.push(notice);
                }
            }
        }
        notices
    }

    /// The next child that has ended, if any.
    pub fn next(&self) -> Option<Reaped> {
        next_ended()
    }
}

#[expect(unsafe_code, reason = "rustix waits for one child or a group, not for any with its pid")]
#[expect(clippy::disallowed_methods, reason = "the only reaper")]
pub(super) fn next_ended() -> Option<Reaped> {
    loop {
        let mut status = 0;
        // SAFETY: a plain out parameter.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        match pid {
            0 => return None,
            pid if pid > 0 => {
                return Some(Reaped { pid, ending: Ending::from_wait_status(status) });
            }
            _ if last_errno() == Errno::INTR => {}
            _ => return None,
        }
    }
}

impl AsFd for Reaper {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
