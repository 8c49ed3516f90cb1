//! `close_all FILE CODE`: prints `ready`, closes every descriptor, waits until FILE exists, exits with CODE.
#![expect(unsafe_code, reason = "descriptors are closed behind std's back")]

use std::io::Write;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let code: i32 = arguments[2].parse().expect("a code");
    println!("ready");
    let _ = std::io::stdout().flush();
    // SAFETY: nothing uses a descriptor after this.
    unsafe { libc::syscall(libc::SYS_close_range, 0u32, u32::MAX, 0u32) };
    while !std::path::Path::new(&arguments[1]).exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // SAFETY: no destructor is needed.
    unsafe { libc::_exit(code) };
}
