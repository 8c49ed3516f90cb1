//! Process 1 of a container: reaps every orphan, forwards signals to the command's process group, kills what the
//! command leaves behind, and exits with the command's exit code.

use super::process::Ending;
use super::reaper::{become_reaper, next_ended};
use super::sweep::{SweepOutcome, sweep};
use rustix::process::{Pid, getpid};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;

/// How a command ended, and whether any of its processes is left.
#[derive(Clone, Copy, Debug)]
pub struct Contained {
    pub ending: Ending,
    pub swept: SweepOutcome,
}

/// Runs the command to its end. The process must be single-threaded.
pub fn run_contained(program: &OsString, arguments: &[OsString]) -> io::Result<Contained> {
    let signals = AllSignals::block();
    // If another process is pid 1, the orphans come to this process too.
    let _ = become_reaper();
    let main = spawn(program, arguments, &signals)?;
    let ending = loop {
        match signals.wait() {
            libc::SIGCHLD => {
                if let Some(ending) = reap_until(main) {
                    break ending;
                }
            }
            signal => pass_on(main, signal),
        }
    };
    Ok(Contained { ending, swept: sweep() })
}

fn reap_until(main: i32) -> Option<Ending> {
    while let Some(reaped) = next_ended() {
        if reaped.pid == main {
            return Some(reaped.ending);
        }
    }
    None
}

/// Every signal that can be caught, except those raised by a fault of this process.
struct AllSignals {
    set: libc::sigset_t,
}

#[expect(unsafe_code, reason = "rustix neither blocks signals nor waits for them")]
impl AllSignals {
    fn block() -> Self {
        // SAFETY: the set is filled before it is read.
        unsafe {
            let mut set = std::mem::zeroed::<libc::sigset_t>();
            libc::sigfillset(&raw mut set);
            for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL] {
                libc::sigdelset(&raw mut set, fault);
            }
            libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
            Self { set }
        }
    }

    /// A new program expects these signals to be unblocked.
    fn unblock(&self) {
        // SAFETY: the set is initialised.
        unsafe {
            libc::sigprocmask(libc::SIG_UNBLOCK, &raw const self.set, std::ptr::null_mut());
        }
    }

    fn wait(&self) -> i32 {
        let mut signal = 0;
        loop {
            // SAFETY: an initialised set and a plain out parameter.
            if unsafe { libc::sigwait(&raw const self.set, &raw mut signal) } == 0 {
                return signal;
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "an unreaped child leads this group")]
fn pass_on(main: i32, signal: i32) {
    let Some(pid) = Pid::from_raw(main) else { return };
    if let Some(signal) = rustix::process::Signal::from_named_raw(signal) {
        let _ = rustix::process::kill_process_group(pid, signal);
    }
}

#[expect(unsafe_code, reason = "the forked child becomes the command")]
#[expect(clippy::disallowed_methods, reason = "process 1 starts only this child")]
fn spawn(program: &OsString, arguments: &[OsString], signals: &AllSignals) -> io::Result<i32> {
    // SAFETY: the process is single-threaded, so the forked child may do anything.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // The command is the terminal's foreground group, if there is a terminal, so that it can read input.
            let _ = rustix::process::setpgid(None, None);
            let _ = rustix::termios::tcsetpgrp(rustix::stdio::stdin(), getpid());
            signals.unblock();
            let error = Command::new(program).args(arguments).exec();
            let description =
                format!("ostler: cannot execute {}: {error}\n", program.to_string_lossy());
            let _ = rustix::io::write(rustix::stdio::stderr(), description.as_bytes());
            let is_missing = error.kind() == io::ErrorKind::NotFound;
            // SAFETY: the child must not run the parent's exit handlers.
            unsafe { libc::_exit(if is_missing { NOT_FOUND } else { NOT_EXECUTABLE }) }
        }
        pid => {
            // Parent and child both call it, so it is done before the first signal is forwarded.
            let _ = rustix::process::setpgid(Pid::from_raw(pid), Pid::from_raw(pid));
            Ok(pid)
        }
    }
}
