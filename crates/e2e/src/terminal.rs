//! A real terminal with a program on it.

use crate::call::Stream;
use crate::process::Process;
use crate::waiting::{PATIENCE, eventually};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::cell::Cell;
use std::fs::File;
use std::io::Write;
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

pub struct Terminal {
    master: File,
    child: Child,
    seen: Stream,
    size: Cell<(u16, u16)>,
}

impl Terminal {
    /// Starts the command as the leader of a session with this terminal.
    pub fn start(mut command: Command, columns: u16, rows: u16) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a terminal");
        grantpt(&master).expect("grantpt");
        unlockpt(&master).expect("unlockpt");
        let slave: OwnedFd =
            ioctl_tiocgptpeer(&master, flags).expect("the program's side of the terminal");
        tcsetwinsize(&master, size(columns, rows)).expect("a size");
        command
            .env("TERM", "xterm-256color")
            .stdin(slave.try_clone().expect("dup"))
            .stdout(slave.try_clone().expect("dup"))
            .stderr(slave);
        #[expect(unsafe_code, reason = "std has no way to give a child a controlling terminal")]
        // SAFETY: both calls are async-signal-safe and touch no memory.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
                Ok(())
            });
        }
        let child = command.spawn().expect("it starts on a terminal");
        // This was our last copy of the program's side: it is closed when the program has ended.
        drop(command);
        let master = File::from(master);
        let seen = Stream::collect(master.try_clone().expect("dup"));
        Self { master, child, seen, size: Cell::new((columns, rows)) }
    }

    pub fn keys(&mut self, keys: &[u8]) {
        self.master.write_all(keys).expect("the terminal takes keys");
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        tcsetwinsize(&self.master, size(columns, rows)).expect("a size");
        self.size.set((columns, rows));
    }

    /// Waits until this was printed, and returns all output.
    pub fn until_shown(&self, text: &str) -> String {
        self.seen.until(text, "the terminal")
    }

    /// The text on the screen now.
    pub fn screen(&self) -> String {
        let (columns, rows) = self.size.get();
        let cells = |count: u16| NonZeroU16::new(count).expect("a terminal has cells");
        let mut screen = vt100::Parser::new(cells(rows), cells(columns), 0);
        screen.process(&self.seen.so_far());
        screen.screen().contents()
    }

    /// Waits until this is on the screen, and returns the screen's text.
    pub fn until_on_screen(&self, text: &str) -> String {
        let began = std::time::Instant::now();
        loop {
            let screen = self.screen();
            if screen.contains(text) {
                return screen;
            }
            assert!(began.elapsed() < PATIENCE, "never on the screen: {text:?}\n{screen}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    pub fn process(&self) -> Option<Process> {
        Process::find(self.child.id() as i32)
    }

    /// Waits for the program's end: its exit code.
    pub fn finish(mut self) -> (Option<i32>, String) {
        let status = eventually("the program on the terminal ends", || {
            self.child.try_wait().expect("a child of ours")
        });
        let shown = self.seen.whole("the program on the terminal");
        (status.code(), String::from_utf8_lossy(&shown).into_owned())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 }
}
