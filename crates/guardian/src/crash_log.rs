//! `crash.log`: every crash of the supervisor, with its last lines of output. Append-only.

use crate::machine::Exit;
use ostler_sys::{short_duration, utc_plain};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

const LINES: usize = 50;
/// Limit for the last lines together.
const BYTES_MOST: u64 = 16 << 20;
const CHUNK: usize = 64 << 10;

#[derive(Clone, Copy, Debug)]
pub struct Crash {
    pub at_ms: u64,
    pub ran_ms: u64,
    pub exit: Exit,
    /// What is known beyond the exit status.
    pub why: Option<&'static str>,
}

/// `output` is the supervisor's log. `from` is its length when the supervisor was started.
pub fn append(path: &Path, crash: &Crash, output: &File, from: u64) -> io::Result<()> {
    let mut log = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    let is_first = log.metadata()?.len() == 0;
    let code = code(crash.exit);
    let error = summary(crash);
    let mut entry = format!(
        "{}=== CRASH {} ===\nRan for: {}\nExit code: {code}\nError: {error}\nLast {LINES} lines of output:\n",
        if is_first { "" } else { "\n" },
        utc_plain(crash.at_ms),
        short_duration(crash.ran_ms),
    )
    .into_bytes();
    let mut output = output.try_clone()?;
    output.seek(SeekFrom::Start(last_lines(&output, from)?))?;
    let mut chunk = vec![0; CHUNK];
    let mut last = b'\n';
    loop {
        let length = output.read(&mut chunk)?;
        if length == 0 {
            break;
        }
        entry.extend_from_slice(&chunk[..length]);
        last = chunk[length - 1];
        log.write_all(&entry)?;
        entry.clear();
    }
    if last != b'\n' {
        entry.push(b'\n');
    }
    log.write_all(&entry)
}

/// The offset where the last lines begin, not before `from`.
fn last_lines(output: &File, from: u64) -> io::Result<u64> {
    let end = output.metadata()?.len();
    let floor = from.max(end.saturating_sub(BYTES_MOST)).min(end);
    let mut chunk = vec![0; CHUNK];
    let mut position = end;
    let mut found = 0;
    while position > floor {
        let length = (position - floor).min(CHUNK as u64) as usize;
        position -= length as u64;
        output.read_exact_at(&mut chunk[..length], position)?;
        for (index, byte) in chunk[..length].iter().enumerate().rev() {
            let at = position + index as u64;
            if *byte == b'\n' && at + 1 < end {
                found += 1;
                if found == LINES {
                    return Ok(at + 1);
                }
            }
        }
    }
    Ok(floor)
}

fn code(exit: Exit) -> i32 {
    match exit {
        Exit::Code(code) => code,
        Exit::Signal { .. } | Exit::NotSpawned(_) | Exit::Unknown => -1,
    }
}

/// On one line.
pub(crate) fn summary(crash: &Crash) -> String {
    let why = crash.why.map(|why| format!(" ({why})")).unwrap_or_default();
    let exit = match crash.exit {
        Exit::Code(code) => format!("exit status {code}"),
        Exit::Signal { number, dumped } => {
            let dumped = if dumped { " (core dumped)" } else { "" };
            format!("signal: {}{dumped}", signal_name(number))
        }
        Exit::NotSpawned(errno) => {
            format!("failed to start: {}", io::Error::from_raw_os_error(errno))
        }
        Exit::Unknown => "exit status unknown: not a child of the guardian".to_owned(),
    };
    format!("{exit}{why}")
}

/// The C library's name of the signal, in lower case.
#[expect(unsafe_code, reason = "the C library has the names")]
fn signal_name(number: i32) -> String {
    // SAFETY: the returned string is valid until the next call, and the guardian has no other thread.
    let name = unsafe { std::ffi::CStr::from_ptr(libc::strsignal(number)) };
    name.to_string_lossy().to_lowercase()
}
