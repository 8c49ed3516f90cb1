//! `fork_tree N`: starts N children and grandchildren in all, prints `ready` when all of them run; all stay.
#![expect(unsafe_code, reason = "fork has no safe form")]

use std::io::{Read, Write};

fn main() {
    let number: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10);
    let (mut reader, mut writer) = std::io::pipe().expect("a pipe");
    let mut made = 0;
    while made < number {
        // SAFETY: the process has one thread.
        unsafe {
            if libc::fork() == 0 {
                // Every child has a child of its own, and each reports that it runs.
                libc::fork();
                let _ = writer.write_all(b".");
                loop {
                    libc::pause();
                }
            }
        }
        made += 2;
    }
    reader.read_exact(&mut vec![0; made]).expect("all of them");
    println!("ready");
    loop {
        // SAFETY: always sound.
        unsafe { libc::pause() };
    }
}
