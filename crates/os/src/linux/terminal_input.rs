//! Another program's terminal: its size and its unread input.

use super::pty::terminal_size;
use ostler_model::TerminalSize;
use rustix::fs::{Mode, OFlags};
use rustix::termios::{LocalModes, QueueSelector};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The terminal that is a process's standard input.
pub fn terminal_of(pid: i32) -> Option<PathBuf> {
    let path = std::fs::read_link(format!("/proc/{pid}/fd/0")).ok()?;
    path.starts_with("/dev/pts").then_some(path)
}

/// In canonical mode the kernel keeps at most this much of one line and silently drops the rest.
pub const LINE_MOST: usize = 4095;

/// Whether the terminal is in canonical mode, where the kernel gives the program whole lines.
pub fn gives_lines(terminal: &Path) -> io::Result<bool> {
    let modes = rustix::termios::tcgetattr(open(terminal)?)?;
    Ok(modes.local_modes.contains(LocalModes::ICANON))
}

/// Whether the terminal gives the program whole lines and does not show what is typed, as for a password.
pub fn is_hidden(terminal: &Path) -> io::Result<bool> {
    let modes = rustix::termios::tcgetattr(open(terminal)?)?.local_modes;
    Ok(modes.contains(LocalModes::ICANON) && !modes.contains(LocalModes::ECHO))
}

/// Discards the terminal's unread input. Returns how many bytes the program could have read at that moment.
pub fn forget_unread(terminal: &Path) -> io::Result<u64> {
    let terminal = open(terminal)?;
    let waiting = rustix::io::ioctl_fionread(&terminal)?;
    rustix::termios::tcflush(&terminal, QueueSelector::IFlush)?;
    Ok(waiting)
}

/// The current size of another program's terminal.
pub fn terminal_size_at(terminal: &Path) -> Option<TerminalSize> {
    terminal_size(open(terminal).ok()?)
}

fn open(terminal: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(terminal, flags, Mode::empty())?)
}

/// How many bytes of the terminal's input its program has not read.
pub fn unread(terminal: &Path) -> io::Result<u64> {
    Ok(rustix::io::ioctl_fionread(open(terminal)?)?)
}
