//! Descriptors that were passed to this process by name, as with socket activation.

use std::os::fd::{FromRawFd, OwnedFd};

const FIRST: i32 = 3;

/// Takes them, and closes whatever else our starter left open beside stdio: a supervisor that keeps a
/// caller's pipe open keeps the caller waiting for its end. To be called before anything of our own is
/// opened.
#[expect(unsafe_code, reason = "descriptors come as numbers; rustix has no close_range")]
pub fn take_inherited() -> Vec<(String, OwnedFd)> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    let is_ours = number("LISTEN_PID") == Some(std::process::id());
    let count = number("LISTEN_FDS").filter(|_| is_ours).unwrap_or(0);
    let mut names = names().into_iter();
    let passed = (0..count as i32)
        .map(|index| {
            // SAFETY: the number was given to us with our pid, and nothing else in here knows of it.
            let descriptor = unsafe { OwnedFd::from_raw_fd(FIRST + index) };
            let _ = rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::CLOEXEC);
            (names.next().unwrap_or_default(), descriptor)
        })
        .collect();
    // SAFETY: nothing of ours is open beyond.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST as u32 + count, libc::c_uint::MAX, 0) };
    passed
}

/// In several lists where one would be too long for the kernel.
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
