//! `fork_tree N`: a chain of children and grandchildren, N in all, then `ready`; all of them stay.
#![expect(unsafe_code, reason = "fork has no safe form")]

fn main() {
    let number: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10);
    let mut left = number;
    while left > 0 {
        // SAFETY: the process has one thread.
        unsafe {
            if libc::fork() == 0 {
                // Every child has a child of its own.
                libc::fork();
                loop {
                    libc::pause();
                }
            }
        }
        left = left.saturating_sub(2);
    }
    println!("ready");
    loop {
        // SAFETY: always sound.
        unsafe { libc::pause() };
    }
}
