//! `chatty COUNT MILLISECONDS [stderr]`: writes COUNT lines at this interval, then stays silent.

use std::io::Write;
use std::time::Duration;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let count: u32 = arguments[1].parse().expect("a number");
    let pause = Duration::from_millis(arguments[2].parse().expect("milliseconds"));
    let on_stderr = arguments.get(3).is_some_and(|word| word == "stderr");
    for index in 0..count {
        let line = format!("line {index}\n");
        if on_stderr {
            std::io::stderr().write_all(line.as_bytes()).expect("written");
        } else {
            std::io::stdout().write_all(line.as_bytes()).expect("written");
        }
        std::thread::sleep(pause);
    }
    loop {
        std::thread::park();
    }
}
