//! Spawns, signals and reaps the supervisor's process.

use crate::executable::Executable;
use crate::machine::Exit;
use crate::signals::unblock_all;
use crate::startup::DescriptorLimit;
use ostler_sys::exit_status;
use rustix::event::{Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The kernel limits one string of the environment to 128 KiB.
const NAMES_MOST: usize = 100_000;
const FIRST_PASSED: i32 = 3;
const LOOKS: u32 = 20;

/// The parameters of a new supervisor.
pub(crate) struct SupervisorCommand<'a> {
    pub(crate) executable: &'a Executable,
    pub(crate) arguments: &'a [&'a str],
    pub(crate) environment: Vec<(&'static str, String)>,
    /// Passed with their names, as in socket activation.
    pub(crate) descriptors: Vec<(&'a str, BorrowedFd<'a>)>,
    pub(crate) output: BorrowedFd<'a>,
    pub(crate) watchdog_ms: u64,
    /// The limit before the guardian raised it.
    pub(crate) descriptor_limit: &'a DescriptorLimit,
}

/// A watched process: a child of the guardian, or a supervisor older than the guardian.
pub(crate) struct Watched {
    pub(crate) pid: i32,
    descriptor: OwnedFd,
}

impl Watched {
    pub(crate) fn open(pid: i32) -> io::Result<Self> {
        let number = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self { pid, descriptor: pidfd_open(number, PidfdFlags::empty())? })
    }

    #[expect(clippy::disallowed_methods, reason = "a pidfd names exactly one process")]
    pub(crate) fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.descriptor, signal);
    }

    pub(crate) fn has_ended(&self) -> bool {
        ostler_sys::has_ended(&self.descriptor)
    }

    /// The exit status. Reaps the process if it is a child of the guardian. Call it only after the process has ended.
    pub(crate) fn ending(&self) -> Exit {
        for _ in 0..LOOKS {
            let status = reap(self.pid).or_else(|| exit_status(self.descriptor.as_fd()));
            if let Some(status) = status {
                return exit_of(status);
            }
            // Not a child: the kernel reports the exit status only after the parent reaped the process.
            let pause = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
            let _ = poll(&mut [], Some(&pause));
        }
        Exit::Unknown
    }
}

impl AsFd for Watched {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

pub(crate) fn exit_of(status: i32) -> Exit {
    if libc::WIFSIGNALED(status) {
        Exit::Signal { number: libc::WTERMSIG(status), dumped: libc::WCOREDUMP(status) }
    } else {
        Exit::Code(libc::WEXITSTATUS(status))
    }
}

/// The guardian is single-threaded, so the forked child may do anything before it becomes the supervisor.
#[expect(unsafe_code, reason = "the forked child arranges its descriptors")]
#[expect(
    clippy::disallowed_methods,
    reason = "the supervisor is not a run, and the guardian is its only parent"
)]
pub(crate) fn spawn(recipe: &SupervisorCommand<'_>) -> io::Result<Watched> {
    // SAFETY: single-threaded; see above.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let error = become_supervisor(recipe);
            let _ = rustix::io::write(
                rustix::stdio::stderr(),
                format!("ostler: cannot execute {}: {error}\n", recipe.executable.shown())
                    .as_bytes(),
            );
            // SAFETY: the child must not run the parent's exit handlers or flush its buffers.
            unsafe { libc::_exit(127) }
        }
        pid => Watched::open(pid),
    }
}

/// Returns only on failure.
fn become_supervisor(recipe: &SupervisorCommand<'_>) -> io::Error {
    let prepare = || -> io::Result<Command> {
        // `File::open` closes its descriptor at once: `pass_on` may need that number.
        rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
        rustix::stdio::dup2_stdout(recipe.output)?;
        rustix::stdio::dup2_stderr(recipe.output)?;
        let count = recipe.descriptors.len();
        let beyond = FIRST_PASSED + count as i32;
        let program = rustix::io::fcntl_dupfd_cloexec(recipe.executable.descriptor(), beyond)?;
        let mut command = Command::new(recipe.executable.to_execute(&program));
        // The number is in the path, and exec closes it.
        std::mem::forget(program);
        let names = pass_on(&recipe.descriptors)?;
        let own = std::process::id().to_string();
        command
            .arg0("ostler")
            .args(recipe.arguments)
            .env_remove(crate::SUPERVISOR_VARIABLE)
            .env_remove(crate::RAN_VARIABLE)
            .env_remove(crate::ROLLBACK_VARIABLE)
            .envs(recipe.environment.iter().map(|(name, value)| (name, value)))
            .envs(names)
            .env("LISTEN_PID", &own)
            .env("LISTEN_FDS", count.to_string())
            .env("WATCHDOG_PID", &own)
            .env("WATCHDOG_USEC", (recipe.watchdog_ms * 1_000).to_string());
        recipe.descriptor_limit.restore();
        unblock_all();
        Ok(command)
    };
    match prepare() {
        Ok(mut command) => command.exec(),
        Err(error) => error,
    }
}

/// Returns only on failure.
pub(crate) fn become_sweeper(executable: &Executable) -> io::Error {
    match executable.descriptor().try_clone() {
        Ok(program) => Command::new(executable.to_execute(&program)).arg("sweep").exec(),
        Err(error) => error,
    }
}

/// Moves the descriptors to the numbers from 3 upwards and clears their close-on-exec flag. It moves them in ascending
/// order, so that none is overwritten before it is moved.
#[expect(unsafe_code, reason = "moves descriptors to fixed numbers")]
fn pass_on(descriptors: &[(&str, BorrowedFd<'_>)]) -> io::Result<Vec<(String, String)>> {
    let mut ordered: Vec<(&str, i32)> =
        descriptors.iter().map(|(name, descriptor)| (*name, descriptor.as_raw_fd())).collect();
    ordered.sort_unstable_by_key(|(_, number)| *number);
    let mut lists = vec![String::new()];
    for (index, (name, number)) in ordered.iter().enumerate() {
        let target = FIRST_PASSED + index as i32;
        // SAFETY: plain numbers; this process no longer needs what the target was.
        let moved = unsafe {
            if *number == target {
                libc::fcntl(target, libc::F_SETFD, 0)
            } else {
                libc::dup2(*number, target)
            }
        };
        if moved < 0 {
            return Err(io::Error::last_os_error());
        }
        let is_full = lists.last().is_some_and(|list| list.len() + name.len() > NAMES_MOST);
        if is_full {
            lists.push(String::new());
        }
        if let Some(list) = lists.last_mut() {
            if !list.is_empty() {
                list.push(':');
            }
            list.push_str(name);
        }
    }
    let name = |index: usize| match index {
        0 => "LISTEN_FDNAMES".to_owned(),
        more => format!("LISTEN_FDNAMES_{more}"),
    };
    Ok(lists.into_iter().enumerate().map(|(index, list)| (name(index), list)).collect())
}

/// The next ended child. It stays unreaped.
#[expect(unsafe_code, reason = "rustix does not wait for any child with its pid")]
pub(crate) fn next_ended() -> Option<(i32, i32)> {
    // SAFETY: a plain out parameter; zeroed, because the kernel leaves it so when no child has ended.
    let found = unsafe {
        let mut found = std::mem::zeroed::<libc::siginfo_t>();
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        if libc::waitid(libc::P_ALL, 0, &raw mut found, flags) != 0 {
            return None;
        }
        found
    };
    // SAFETY: waitid fills these fields.
    let (pid, status) = unsafe { (found.si_pid(), found.si_status()) };
    let raw = match found.si_code {
        libc::CLD_EXITED => (status & 0xff) << 8,
        libc::CLD_DUMPED => status | 0x80,
        _ => status,
    };
    (pid > 0).then_some((pid, raw))
}

#[expect(clippy::disallowed_methods, reason = "a pidfd names exactly one process")]
pub(crate) fn kill(process: &OwnedFd) {
    let _ = pidfd_send_signal(process, Signal::KILL);
}

/// `None` if the process has not ended or is not a child of the guardian.
#[expect(unsafe_code, reason = "rustix does not give the raw status")]
#[expect(clippy::disallowed_methods, reason = "the guardian's one reaper")]
pub(crate) fn reap(pid: i32) -> Option<i32> {
    let mut status = 0;
    // SAFETY: a plain out parameter.
    let reaped = unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG) };
    (reaped == pid).then_some(status)
}
