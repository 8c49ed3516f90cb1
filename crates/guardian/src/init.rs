//! `ostler init -- CMD`: process 1 of a container. Reaps whatever comes to it, passes signals on to the
//! command's group, ends what the command leaves behind, and exits with the command's code.

use crate::child::{exit_of, next_ended, reap};
use crate::machine::Exit;
use crate::signals::{Signals, Which, unblock_all};
use crate::sweep::sweep;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, getpid, set_child_subreaper};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

const OWN_FAILURE: u8 = 125;
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

pub fn init(command: &[OsString]) -> u8 {
    let Some((program, arguments)) = command.split_first() else {
        tell("init needs a command: ostler init -- CMD");
        return 2;
    };
    match run(program, arguments) {
        Ok(code) => code,
        Err(error) => {
            tell(&format!("cannot run {}: {error}", program.to_string_lossy()));
            OWN_FAILURE
        }
    }
}

fn run(program: &OsString, arguments: &[OsString]) -> io::Result<u8> {
    let signals = Signals::new(Which::All)?;
    // Where somebody else is process 1, orphans come to us all the same.
    let _ = set_child_subreaper(Some(getpid()));
    let main = spawn(program, arguments)?;
    let status = loop {
        if let Some(status) = reap_all(main) {
            break status;
        }
        let mut ready = [PollFd::new(&signals, PollFlags::IN)];
        let _ = poll(&mut ready, None);
        while let Some(signal) = signals.next() {
            if signal != libc::SIGCHLD {
                pass_on(main, signal);
            }
        }
    };
    if let Some(left) = sweep(&signals, |_, _| {}) {
        tell(&format!("{left} of its processes could not be ended"));
    }
    Ok(match exit_of(status) {
        Exit::Code(code) => code as u8,
        Exit::Signal { number, .. } => (128 + number) as u8,
        Exit::NotSpawned(_) | Exit::Unknown => OWN_FAILURE,
    })
}

/// The command's status, when it has ended.
fn reap_all(main: i32) -> Option<i32> {
    while let Some((pid, _)) = next_ended() {
        let status = reap(pid);
        if pid == main {
            return status;
        }
    }
    None
}

#[expect(clippy::disallowed_methods, reason = "our own unreaped child leads this group")]
fn pass_on(main: i32, signal: i32) {
    let Some(pid) = Pid::from_raw(main) else { return };
    if let Some(signal) = rustix::process::Signal::from_named_raw(signal) {
        let _ = rustix::process::kill_process_group(pid, signal);
    }
}

#[expect(unsafe_code, reason = "a copy of ourselves that becomes the command")]
#[expect(clippy::disallowed_methods, reason = "process 1 has one child of its own making")]
fn spawn(program: &OsString, arguments: &[OsString]) -> io::Result<i32> {
    // SAFETY: single-threaded, so the copy may do anything.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            lead_own_group();
            unblock_all();
            let error = Command::new(program).args(arguments).exec();
            tell(&format!("cannot execute {}: {error}", program.to_string_lossy()));
            let code =
                if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
            // SAFETY: nothing of our parent's is to be run in this copy.
            unsafe { libc::_exit(code.into()) }
        }
        pid => {
            // Both of us do it: whoever comes first, it is done before a signal is passed on.
            let _ = rustix::process::setpgid(Pid::from_raw(pid), Pid::from_raw(pid));
            Ok(pid)
        }
    }
}

/// With the terminal, if there is one, so that it can be typed into.
fn lead_own_group() {
    let _ = rustix::process::setpgid(None, None);
    let _ = rustix::termios::tcsetpgrp(rustix::stdio::stdin(), getpid());
}

fn tell(text: &str) {
    let _ = rustix::io::write(rustix::stdio::stderr(), format!("ostler: {text}\n").as_bytes());
}
