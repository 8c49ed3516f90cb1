//! A process held by a pidfd, so that a signal never reaches a process that reused its pid.

use super::identity::{boot_id, stat, zombie_status};
use super::reserved_fds;
use ostler_model::Fingerprint;
use ostler_sys::exit_status;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The signals that the supervisor sends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Term,
    Kill,
    Continue,
    /// The stop signal that a program's configuration chooses instead of TERM.
    Other(i32),
}

impl Signal {
    /// The signal's name without `SIG`, as in `kill -l`.
    pub fn name(self) -> String {
        let number = self.number().as_raw();
        let name = match number {
            libc::SIGHUP => "HUP",
            libc::SIGINT => "INT",
            libc::SIGQUIT => "QUIT",
            libc::SIGABRT => "ABRT",
            libc::SIGKILL => "KILL",
            libc::SIGUSR1 => "USR1",
            libc::SIGUSR2 => "USR2",
            libc::SIGPIPE => "PIPE",
            libc::SIGALRM => "ALRM",
            libc::SIGTERM => "TERM",
            libc::SIGCONT => "CONT",
            libc::SIGWINCH => "WINCH",
            _ => return format!("signal {number}"),
        };
        name.to_owned()
    }

    pub(super) fn number(self) -> rustix::process::Signal {
        match self {
            Signal::Term => rustix::process::Signal::TERM,
            Signal::Kill => rustix::process::Signal::KILL,
            Signal::Continue => rustix::process::Signal::CONT,
            Signal::Other(number) => rustix::process::Signal::from_named_raw(number)
                .unwrap_or(rustix::process::Signal::TERM),
        }
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Code(i32),
    Signal(i32),
}

impl Ending {
    pub(super) fn from_wait_status(status: i32) -> Self {
        if libc::WIFSIGNALED(status) {
            Ending::Signal(libc::WTERMSIG(status))
        } else {
            Ending::Code(libc::WEXITSTATUS(status))
        }
    }
}

/// The leader of a run's session and process group.
#[derive(Debug)]
pub struct Process {
    descriptor: OwnedFd,
    fingerprint: Fingerprint,
}

impl Process {
    pub(super) fn new(descriptor: OwnedFd, fingerprint: Fingerprint) -> Self {
        Self { descriptor, fingerprint }
    }

    /// Opens the recorded process; `None` if it does not exist any more. The check comes after the open: from then on
    /// the descriptor can refer to no other process.
    pub fn open(recorded: &Fingerprint) -> Option<Self> {
        if recorded.boot_id != boot_id() {
            return None;
        }
        let descriptor = open_pid(recorded.pid)?;
        let now = stat(recorded.pid)?;
        let is_same_number = match (recorded.unique, unique_number(descriptor.as_fd())) {
            (Some(recorded), Some(now)) => recorded == now,
            (None, _) | (_, None) => true,
        };
        (now.start_time == recorded.start_time && !now.dead && is_same_number)
            .then(|| Self { descriptor, fingerprint: recorded.clone() })
    }

    /// The process with this pid now, alive or a zombie. For a pid that an unreaped child keeps from reuse.
    pub fn at(pid: i32) -> Option<Self> {
        let fingerprint = super::identity::fingerprint_of(pid)?;
        Some(Self { descriptor: open_pid(pid)?, fingerprint })
    }

    /// A process whose pidfd another process held. It may have ended, but the pidfd can refer to no other process.
    pub fn held(descriptor: OwnedFd, recorded: Fingerprint) -> Self {
        Self { descriptor, fingerprint: recorded }
    }

    /// Whether the process has ended.
    pub fn has_ended(&self) -> bool {
        ostler_sys::has_ended(&self.descriptor)
    }

    /// Signals this one process.
    #[expect(clippy::disallowed_methods, reason = "a pidfd names exactly one process")]
    pub fn signal(&self, signal: Signal) -> bool {
        pidfd_send_signal(&self.descriptor, signal.number()).is_ok()
    }

    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// Signals every process in the group this process leads. `false` if none is left.
    pub fn signal_group(&self, signal: Signal) -> bool {
        if self.fingerprint.pid == rustix::process::getpgrp().as_raw_pid() {
            // Never signal the supervisor's own group.
            return false;
        }
        match send_to_group(self.descriptor.as_fd(), signal) {
            Ok(()) => true,
            Err(Errno::INVAL) => self.signal_group_by_number(signal),
            Err(_) => false,
        }
    }

    /// For kernels that cannot signal a group by pidfd. The pid is safe only while the leader itself still has it,
    /// alive or unreaped.
    #[expect(
        clippy::disallowed_methods,
        reason = "the check above shows that the leader still has the pid"
    )]
    fn signal_group_by_number(&self, signal: Signal) -> bool {
        let pinned = stat(self.fingerprint.pid)
            .is_some_and(|now| now.start_time == self.fingerprint.start_time);
        pinned
            && Pid::from_raw(self.fingerprint.pid).is_some_and(|pid| {
                rustix::process::kill_process_group(pid, signal.number()).is_ok()
            })
    }

    /// Waits at most `most_ms` for the process to end. Returns whether it has ended.
    pub fn wait_gone(&self, most_ms: Option<u64>) -> std::io::Result<bool> {
        let mut ended = [PollFd::new(&self.descriptor, PollFlags::IN)];
        let most = most_ms.map(|ms| rustix::event::Timespec {
            tv_sec: (ms / 1_000) as i64,
            tv_nsec: (ms % 1_000) as i64 * 1_000_000,
        });
        loop {
            match poll(&mut ended, most.as_ref()) {
                Ok(ready) => return Ok(ready > 0),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// How a process that is not a child of this process ended. Before it is reaped, its zombie's stat line has the
    /// status; afterwards the pidfd has it (Linux ≥ 6.15).
    pub fn ending(&self) -> Option<Ending> {
        zombie_status(&self.fingerprint)
            .or_else(|| exit_status(self.descriptor.as_fd()))
            .map(Ending::from_wait_status)
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// How the process of a pidfd ended, if the kernel reports it (Linux ≥ 6.15). `None` while it is alive.
pub fn ending_behind(descriptor: BorrowedFd<'_>) -> Option<Ending> {
    exit_status(descriptor).map(Ending::from_wait_status)
}

/// The inode number of a pidfd, which is unique for each process if the kernel has pidfs.
pub(super) fn unique_number(descriptor: BorrowedFd<'_>) -> Option<u64> {
    const PROCESS_FILE_SYSTEM: i64 = 0x5049_4446;
    let system = rustix::fs::fstatfs(descriptor).ok()?;
    (system.f_type == PROCESS_FILE_SYSTEM)
        .then(|| rustix::fs::fstat(descriptor).ok().map(|stat| stat.st_ino))?
}

pub(super) fn open_pid(pid: i32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()
}

/// Signals one process if `is_meant`, called after the open, confirms that it is the intended one.
#[expect(clippy::disallowed_methods, reason = "the only place that signals members, after a check")]
pub(super) fn signal_checked(pid: i32, signal: Signal, is_meant: impl FnOnce() -> bool) -> bool {
    let Some(pid) = Pid::from_raw(pid) else { return false };
    let opened = reserved_fds::spend(|| Ok(pidfd_open(pid, PidfdFlags::empty())?));
    let Ok(descriptor) = opened else { return false };
    let is_done = is_meant() && pidfd_send_signal(&descriptor, signal.number()).is_ok();
    drop(descriptor);
    // The descriptor may have been one of the reserved ones.
    reserved_fds::hold_back();
    is_done
}

#[expect(unsafe_code, reason = "rustix has no call for a group signal by descriptor")]
fn send_to_group(descriptor: BorrowedFd<'_>, signal: Signal) -> Result<(), Errno> {
    const PIDFD_SIGNAL_PROCESS_GROUP: libc::c_uint = 1 << 2;
    // SAFETY: a live descriptor, a signal number, no siginfo.
    let result = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            descriptor.as_raw_fd(),
            signal.number().as_raw(),
            std::ptr::null::<libc::siginfo_t>(),
            PIDFD_SIGNAL_PROCESS_GROUP,
        )
    };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}

pub(super) fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Kills this process as SIGKILL from outside would: nothing is flushed or cleaned up.
#[expect(clippy::disallowed_methods, reason = "the pid is our own")]
pub fn die() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}
