//! `numbers FILE BATCH MILLISECONDS END`: writes numbered lines, BATCH at once at this interval, until FILE exists.
//! Then it writes a last line with their count, and ends: with an exit code, or `-N` for signal N.
#![expect(unsafe_code, reason = "a signal to itself")]

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |index: usize| arguments[index].parse::<i64>().expect("a number");
    let (batch, pause, end) = (number(2), Duration::from_millis(number(3) as u64), number(4));
    let mut out = std::io::stdout().lock();
    let mut next = 0;
    while !Path::new(&arguments[1]).exists() {
        let mut lines = String::new();
        for line in next..next + batch {
            let _ = writeln!(lines, "line {line}");
        }
        next += batch;
        out.write_all(lines.as_bytes()).expect("written");
        out.flush().expect("written");
        std::thread::sleep(pause);
    }
    out.write_all(format!("end {next}\n").as_bytes()).expect("written");
    out.flush().expect("written");
    if end < 0 {
        // SAFETY: a plain signal to ourselves.
        unsafe { libc::kill(libc::getpid(), -end as i32) };
    }
    std::process::exit(end as i32);
}
