//! Ignores TERM and HUP, prints `ready`, and stays. With a number, that many children do the same.
#![expect(unsafe_code, reason = "signals and fork have no safe form")]

use std::io::Write;

fn main() {
    let children = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    // SAFETY: no handler runs; the process has one thread.
    unsafe {
        libc::signal(libc::SIGTERM, libc::SIG_IGN);
        libc::signal(libc::SIGHUP, libc::SIG_IGN);
        for _ in 0..children {
            if libc::fork() == 0 {
                stay();
            }
        }
    }
    println!("ready");
    let _ = std::io::stdout().flush();
    stay();
}

fn stay() -> ! {
    loop {
        // SAFETY: always sound.
        unsafe { libc::pause() };
    }
}
