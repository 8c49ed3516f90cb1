//! A pseudo-terminal for a run: the supervisor holds the master; the other side is the run's controlling terminal.

use super::pipe::no_block;
use ostler_model::TerminalSize;
use rustix::pty::{OpenptFlags, grantpt, openpt, unlockpt};
use rustix::termios::{Winsize, tcgetwinsize, tcsetwinsize};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

#[derive(Debug)]
pub struct Pty {
    pub ours: OwnedFd,
    pub theirs: OwnedFd,
}

impl Pty {
    pub fn open(size: TerminalSize) -> io::Result<Self> {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let theirs = rustix::pty::ioctl_tiocgptpeer(
            &ours,
            OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC,
        )?;
        resize(&ours, size)?;
        no_block(&ours)?;
        Ok(Self { ours, theirs })
    }
}

pub fn resize(terminal: impl AsFd, size: TerminalSize) -> io::Result<()> {
    let size = Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(tcsetwinsize(terminal, size)?)
}

pub fn terminal_size(terminal: impl AsFd) -> Option<TerminalSize> {
    let size = tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0 && size.ws_row > 0)
        .then_some(TerminalSize { columns: size.ws_col, rows: size.ws_row })
}
