//! Where a child finds its standard descriptors when it is born.
//!
//! A child begins with a copy of all our descriptors, and closes that copy when it executes: with thousands of
//! runs that is most of the cost of one more. So it is born on our own table instead, and its first act is to
//! leave it with a copy of what is below a low number. What it needs has to stand there: three seats, and
//! one for the note of a run's reaper, that we keep taken at all times. They hold a child's descriptors only while it is
//! being born.

use rustix::io::{DupFlags, dup3, fcntl_dupfd_cloexec};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

#[derive(Debug)]
pub(super) struct StdioSlots {
    seats: [OwnedFd; 3],
    /// For the note of a run's reaper.
    note: OwnedFd,
    nothing: OwnedFd,
}

impl StdioSlots {
    /// `None` where the kernel cannot do it (before Linux 5.9, or in a sandbox), or has no room left.
    pub(super) fn take() -> Option<Self> {
        if !can_leave_table() {
            return None;
        }
        let nothing = open_nothing().ok()?;
        let pane_slot = || fcntl_dupfd_cloexec(&nothing, 3).ok();
        let seats = [pane_slot()?, pane_slot()?, pane_slot()?];
        Some(Self { seats, note: pane_slot()?, nothing })
    }

    pub(super) fn numbers(&self) -> [RawFd; 3] {
        self.seats.each_ref().map(AsRawFd::as_raw_fd)
    }

    /// Everything from here on stays behind.
    pub(super) fn end(&self) -> RawFd {
        let stdio = self.numbers().into_iter().max().unwrap_or(2);
        stdio.max(self.note.as_raw_fd()) + 1
    }

    /// Where the reaper of a run finds its note.
    pub(super) fn pane_note(&mut self, note: BorrowedFd<'_>) -> io::Result<RawFd> {
        dup3(note, &mut self.note, DupFlags::CLOEXEC)?;
        Ok(self.note.as_raw_fd())
    }

    pub(super) fn pane_slot(&mut self, stdio: &[BorrowedFd<'_>; 3]) -> io::Result<()> {
        for (pane_slot, descriptor) in self.seats.iter_mut().zip(stdio) {
            dup3(descriptor, pane_slot, DupFlags::CLOEXEC)?;
        }
        Ok(())
    }

    /// The child has its own now; nobody else's end of a pipe may stay open with us.
    pub(super) fn clear(&mut self) {
        for pane_slot in self.seats.iter_mut().chain([&mut self.note]) {
            // It replaces what is open by what is open: there is nothing that it could run out of.
            let _ = dup3(self.nothing.as_fd(), pane_slot, DupFlags::CLOEXEC);
        }
    }
}

/// To be read and to be written. It is closed in whoever executes.
pub(super) fn open_nothing() -> io::Result<OwnedFd> {
    Ok(std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?.into())
}

#[expect(unsafe_code, reason = "rustix has no such call")]
fn can_leave_table() -> bool {
    // SAFETY: no descriptor has that number, so nothing is closed.
    unsafe { libc::syscall(libc::SYS_close_range, libc::c_uint::MAX, libc::c_uint::MAX, 0) == 0 }
}

/// Leaves a table that is shared with the parent. Only a system call: it runs in a child that shares our memory.
#[expect(unsafe_code, reason = "rustix has no such call")]
pub(super) unsafe fn leave_table(end: RawFd) -> bool {
    const CLOSE_RANGE_UNSHARE: libc::c_uint = 2;
    // SAFETY: with this flag the caller's own copy is changed, never what it was shared with.
    let left = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            end as libc::c_uint,
            libc::c_uint::MAX,
            CLOSE_RANGE_UNSHARE,
        )
    };
    left == 0
}
