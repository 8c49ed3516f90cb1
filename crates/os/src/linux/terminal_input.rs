//! Another program's terminal: its size and its unread input.

use super::pane_process::controlling_terminal;
use super::pty::terminal_size;
use ostler_model::TerminalSize;
use rustix::fs::{Mode, OFlags};
use rustix::termios::{LocalModes, QueueSelector, SpecialCodeIndex};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The terminal that is a process's standard input. The kernel hides the descriptors of a program that changes its user,
/// such as `sudo`; its controlling terminal is not hidden.
pub fn terminal_of(pid: i32) -> Option<PathBuf> {
    match std::fs::read_link(format!("/proc/{pid}/fd/0")) {
        Ok(path) => path.starts_with("/dev/pts").then_some(path),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => controlling_terminal(pid),
        Err(_) => None,
    }
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
    hides_input(open(terminal)?)
}

/// The same, for an open terminal; of a pseudo-terminal, either side.
pub fn hides_input(terminal: impl AsFd) -> io::Result<bool> {
    let modes = rustix::termios::tcgetattr(terminal)?.local_modes;
    Ok(modes.contains(LocalModes::ICANON) && !modes.contains(LocalModes::ECHO))
}

/// Whether Ctrl-U removes the typed part of a line that the program has not read.
pub fn clears_line(terminal: &Path) -> io::Result<bool> {
    const CTRL_U: u8 = 0x15;
    let modes = rustix::termios::tcgetattr(open(terminal)?)?;
    let is_lines = modes.local_modes.contains(LocalModes::ICANON);
    Ok(is_lines && modes.special_codes[SpecialCodeIndex::VKILL] == CTRL_U)
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
