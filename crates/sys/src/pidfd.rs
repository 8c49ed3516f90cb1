//! What a pidfd tells about its process.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Whether the process has ended. Does not wait.
pub fn has_ended(descriptor: impl AsFd) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut ended = [PollFd::new(&descriptor, PollFlags::IN)];
    poll(&mut ended, Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// The wait status of an ended process that its parent has reaped, if the kernel reports it (Linux ≥ 6.15).
#[expect(unsafe_code, reason = "rustix has no PIDFD_GET_INFO")]
pub fn exit_status(descriptor: BorrowedFd<'_>) -> Option<i32> {
    #[repr(C)]
    #[derive(Default)]
    struct PidfdInfo {
        mask: u64,
        cgroup: u64,
        ids: [u32; 11],
        exit_code: i32,
    }
    const PIDFD_GET_INFO: libc::Ioctl = 0xC040_FF0B_u32 as libc::Ioctl;
    const PIDFD_INFO_EXIT: u64 = 1 << 3;
    let mut info = PidfdInfo { mask: PIDFD_INFO_EXIT, ..PidfdInfo::default() };
    // SAFETY: the structure is the kernel's first published version; the ioctl number encodes its size.
    let result = unsafe { libc::ioctl(descriptor.as_raw_fd(), PIDFD_GET_INFO, &raw mut info) };
    (result == 0 && info.mask & PIDFD_INFO_EXIT != 0).then_some(info.exit_code)
}
