//! What was typed into another program's terminal, and was not read by it.

use rustix::fs::{Mode, OFlags};
use rustix::termios::QueueSelector;
use std::io;
use std::path::{Path, PathBuf};

/// The terminal that a process reads from.
pub fn terminal_of(pid: i32) -> Option<PathBuf> {
    let path = std::fs::read_link(format!("/proc/{pid}/fd/0")).ok()?;
    path.starts_with("/dev/pts").then_some(path)
}

/// Takes back what waits in the terminal to be read; says how many bytes could have been read at that moment.
pub fn forget_unread(terminal: &Path) -> io::Result<u64> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let terminal = rustix::fs::open(terminal, flags, Mode::empty())?;
    let waiting = rustix::io::ioctl_fionread(&terminal)?;
    rustix::termios::tcflush(&terminal, QueueSelector::IFlush)?;
    Ok(waiting)
}
