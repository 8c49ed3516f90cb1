//! Another program's terminal: its size, and what was typed into it and was not read.

use super::pty::terminal_size;
use ostler_model::TerminalSize;
use rustix::fs::{Mode, OFlags};
use rustix::termios::{LocalModes, QueueSelector};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The terminal that a process reads from.
pub fn terminal_of(pid: i32) -> Option<PathBuf> {
    let path = std::fs::read_link(format!("/proc/{pid}/fd/0")).ok()?;
    path.starts_with("/dev/pts").then_some(path)
}

/// A terminal that gives its program whole lines keeps no more than this of one; the rest is lost without a word.
pub const LINE_MOST: usize = 4095;

/// Whether the program reads whole lines, which the kernel edits; otherwise it takes key by key.
pub fn gives_lines(terminal: &Path) -> io::Result<bool> {
    let modes = rustix::termios::tcgetattr(open(terminal)?)?;
    Ok(modes.local_modes.contains(LocalModes::ICANON))
}

/// Takes back what waits in the terminal to be read; says how many bytes could have been read at that moment.
pub fn forget_unread(terminal: &Path) -> io::Result<u64> {
    let terminal = open(terminal)?;
    let waiting = rustix::io::ioctl_fionread(&terminal)?;
    rustix::termios::tcflush(&terminal, QueueSelector::IFlush)?;
    Ok(waiting)
}

/// The size of another program's terminal now.
pub fn terminal_size_at(terminal: &Path) -> Option<TerminalSize> {
    terminal_size(open(terminal).ok()?)
}

fn open(terminal: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(terminal, flags, Mode::empty())?)
}

/// How many bytes wait in the terminal to be read by its program.
pub fn unread(terminal: &Path) -> io::Result<u64> {
    Ok(rustix::io::ioctl_fionread(open(terminal)?)?)
}
