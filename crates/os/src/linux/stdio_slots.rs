//! Low descriptor numbers reserved for a child's stdio.
//!
//! A child begins with a copy of this process's descriptor table and closes the copy when it executes: with thousands
//! of runs that is most of the cost of a spawn. So the child shares the table instead, and its first act is to unshare
//! it, copying only the entries below a low number. The descriptors it needs must be below that number: three slots for
//! stdio, and one for the note of a run's reaper. The slots are occupied at all times and hold a child's descriptors
//! only during its spawn.

use rustix::io::{DupFlags, dup3, fcntl_dupfd_cloexec};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

#[derive(Debug)]
pub(super) struct StdioSlots {
    slots: [OwnedFd; 3],
    /// The slot for the note of a run's reaper.
    note: OwnedFd,
    nothing: OwnedFd,
}

impl StdioSlots {
    /// `None` if the kernel cannot unshare the table (before Linux 5.9, or in a sandbox), or if no descriptor is free.
    pub(super) fn take() -> Option<Self> {
        if !can_leave_table() {
            return None;
        }
        let nothing = open_nothing().ok()?;
        let slot = || fcntl_dupfd_cloexec(&nothing, 3).ok();
        let slots = [slot()?, slot()?, slot()?];
        Some(Self { slots, note: slot()?, nothing })
    }

    pub(super) fn numbers(&self) -> [RawFd; 3] {
        self.slots.each_ref().map(AsRawFd::as_raw_fd)
    }

    /// One above the highest slot: the child does not copy descriptors from here on.
    pub(super) fn end(&self) -> RawFd {
        let stdio = self.numbers().into_iter().max().unwrap_or(2);
        stdio.max(self.note.as_raw_fd()) + 1
    }

    /// Puts the note of a run's reaper into its slot.
    pub(super) fn put_note(&mut self, note: BorrowedFd<'_>) -> io::Result<RawFd> {
        dup3(note, &mut self.note, DupFlags::CLOEXEC)?;
        Ok(self.note.as_raw_fd())
    }

    pub(super) fn fill(&mut self, stdio: &[BorrowedFd<'_>; 3]) -> io::Result<()> {
        for (slot, descriptor) in self.slots.iter_mut().zip(stdio) {
            dup3(descriptor, slot, DupFlags::CLOEXEC)?;
        }
        Ok(())
    }

    /// Resets the slots: the supervisor must not keep the child's end of a pipe open.
    pub(super) fn clear(&mut self) {
        for slot in self.slots.iter_mut().chain([&mut self.note]) {
            // It replaces an open descriptor by an open one, so it cannot fail for lack of descriptors.
            let _ = dup3(self.nothing.as_fd(), slot, DupFlags::CLOEXEC);
        }
    }
}

/// `/dev/null` for reading and writing, close-on-exec.
pub(super) fn open_nothing() -> io::Result<OwnedFd> {
    Ok(std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?.into())
}

#[expect(unsafe_code, reason = "rustix has no such call")]
fn can_leave_table() -> bool {
    // SAFETY: no descriptor has this number, so nothing is closed.
    unsafe { libc::syscall(libc::SYS_close_range, libc::c_uint::MAX, libc::c_uint::MAX, 0) == 0 }
}

/// Unshares the descriptor table from the parent. A single system call: it runs in a child that shares the parent's
/// memory.
#[expect(unsafe_code, reason = "rustix has no such call")]
pub(super) unsafe fn leave_table(end: RawFd) -> bool {
    const CLOSE_RANGE_UNSHARE: libc::c_uint = 2;
    // SAFETY: with this flag the kernel changes the caller's own copy, never the shared table.
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
