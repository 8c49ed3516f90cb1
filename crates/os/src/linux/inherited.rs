//! File descriptors passed to this process by name, as in socket activation.

use std::os::fd::{FromRawFd, OwnedFd};

const FIRST: i32 = 3;

/// Takes the passed descriptors and closes every other inherited descriptor except stdio: a supervisor that holds a
/// caller's pipe open keeps the caller waiting for end of file. Call it before any other descriptor is opened.
#[expect(unsafe_code, reason = "descriptors come as numbers; rustix has no close_range")]
pub fn take_inherited() -> Vec<(String, OwnedFd)> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    let is_ours = number("LISTEN_PID") == Some(std::process::id());
    let count = number("LISTEN_FDS").filter(|_| is_ours).unwrap_or(0);
    let mut names = names().into_iter();
    let passed = (0..count as i32)
        .map(|index| {
            // SAFETY: LISTEN_PID names this process, so the number is ours, and no other code uses it.
            let descriptor = unsafe { OwnedFd::from_raw_fd(FIRST + index) };
            let _ = rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::CLOEXEC);
            (names.next().unwrap_or_default(), descriptor)
        })
        .collect();
    // SAFETY: no code of this process has opened a descriptor above.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST as u32 + count, libc::c_uint::MAX, 0) };
    passed
}

/// The names may be split over several variables: the kernel limits the length of one.
fn names() -> Vec<String> {
    let mut names = Vec::new();
    for index in 0.. {
        let variable = match index {
            0 => "LISTEN_FDNAMES".to_owned(),
            more => format!("LISTEN_FDNAMES_{more}"),
        };
        let Ok(list) = std::env::var(variable) else { break };
        names.extend(list.split(':').map(str::to_owned));
    }
    names
}
