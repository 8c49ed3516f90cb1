//! `flood BYTES CODE [stderr]`: writes that many bytes of every value and exits at once.
#![expect(unsafe_code, reason = "it must exit at once, as a program that crashes")]

use std::io::Write;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number: usize = arguments[1].parse().expect("a number");
    let code: i32 = arguments[2].parse().expect("a code");
    let bytes: Vec<u8> = (0..number).map(|index| (index * 31 % 251) as u8).collect();
    if arguments.get(3).is_some_and(|word| word == "stderr") {
        std::io::stderr().write_all(&bytes).expect("written");
    } else {
        // Past std's own line buffer.
        let mut out = std::io::stdout().lock();
        out.write_all(&bytes).expect("written");
        out.flush().expect("written");
    }
    // SAFETY: everything is flushed.
    unsafe { libc::_exit(code) };
}
