//! `fork_bomb N`: every process forks as fast as it can until there are N, then all stay and ignore TERM.
#![expect(unsafe_code, reason = "fork and shared memory have no safe form")]

use std::sync::atomic::{AtomicUsize, Ordering};

fn main() {
    let most: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2_000);
    // SAFETY: the mapping is shared by all and never unmapped; an all-zero AtomicUsize is one.
    let made: &AtomicUsize = unsafe {
        libc::signal(libc::SIGTERM, libc::SIG_IGN);
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        let place = libc::mmap(
            std::ptr::null_mut(),
            4096,
            libc::PROT_READ | libc::PROT_WRITE,
            flags,
            -1,
            0,
        );
        assert_ne!(place, libc::MAP_FAILED);
        &*place.cast::<AtomicUsize>()
    };
    let first = std::process::id();
    while made.fetch_add(1, Ordering::SeqCst) < most {
        // SAFETY: the process has one thread.
        if unsafe { libc::fork() } < 0 {
            break;
        }
    }
    if std::process::id() == first {
        println!("ready");
    }
    loop {
        // SAFETY: always sound.
        unsafe { libc::pause() };
    }
}
