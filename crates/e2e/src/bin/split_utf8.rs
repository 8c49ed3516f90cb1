//! Writes a line of characters of two, three and four bytes, one byte a write.

use std::io::Write;

fn main() {
    let mut out = std::io::stdout();
    for byte in "grüße, 世界 🐎\n".as_bytes() {
        out.write_all(&[*byte]).expect("written");
        out.flush().expect("written");
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
}
