//! Runs a client of a server that may not answer. The client is killed after a timeout. It is a child of this process
//! only, so killing it ends only this request.

use super::tool::ToolOutput;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The outcome of a client call.
#[derive(Clone, Debug)]
pub enum ClientOutcome {
    Answered(ToolOutput),
    /// The client exceeded its time and was killed.
    Silent,
}

/// More output than this counts as no answer.
const ANSWER_MOST: usize = 64 << 20;

/// Runs a client to its end, at most for `limit`, without these environment variables. It has its own process group, so
/// that a signal to this process's group does not interrupt it.
#[expect(
    clippy::disallowed_methods,
    reason = "a client is no run: it ends before this call returns"
)]
pub fn ask_client<A: AsRef<OsStr>>(
    program: &Path,
    arguments: &[A],
    input: &[u8],
    without: &[&str],
    limit: Duration,
) -> io::Result<ClientOutcome> {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    for name in without {
        command.env_remove(name);
    }
    let mut child = command.spawn()?;
    let stdin = child.stdin.take();
    let listened = std::thread::scope(|scope| {
        // On its own thread: the client may answer before it has read all its input.
        if let Some(mut stdin) = stdin {
            scope.spawn(move || stdin.write_all(input));
        }
        let listened = listen(&mut child, limit);
        if !matches!(listened, Ok(Some(_))) {
            let _ = child.kill();
        }
        listened
    });
    let status = child.wait()?;
    let Some((output, error_output)) = listened? else { return Ok(ClientOutcome::Silent) };
    Ok(ClientOutcome::Answered(ToolOutput {
        code: status.code(),
        output,
        error_output: String::from_utf8_lossy(&error_output).trim().to_owned(),
    }))
}

/// What the client wrote until it closed both streams; `None` after the timeout.
fn listen(child: &mut Child, limit: Duration) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    let until = super::clock::mono_ms() + limit.as_millis() as u64;
    let mut open: [Option<OwnedFd>; 2] =
        [child.stdout.take().map(Into::into), child.stderr.take().map(Into::into)];
    let mut written: [Vec<u8>; 2] = [Vec::new(), Vec::new()];
    let mut buffer = vec![0u8; 64 << 10];
    while open.iter().any(Option::is_some) {
        let left = until.saturating_sub(super::clock::mono_ms());
        let timeout =
            Timespec { tv_sec: (left / 1_000) as i64, tv_nsec: (left % 1_000) as i64 * 1_000_000 };
        let mut sources: Vec<PollFd<'_>> =
            open.iter().flatten().map(|source| PollFd::new(source, PollFlags::IN)).collect();
        match poll(&mut sources, Some(&timeout)) {
            Ok(0) => return Ok(None),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<bool> = sources.iter().map(|source| !source.revents().is_empty()).collect();
        drop(sources);
        let present: Vec<usize> = (0..2).filter(|index| open[*index].is_some()).collect();
        for (index, _) in present.into_iter().zip(ready).filter(|(_, is_ready)| *is_ready) {
            let Some(source) = &open[index] else { continue };
            match rustix::io::read(source, &mut buffer[..]) {
                Ok(0) => open[index] = None,
                Ok(length) => written[index].extend_from_slice(&buffer[..length]),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if written[index].len() > ANSWER_MOST {
                return Ok(None);
            }
        }
    }
    let [output, error_output] = written;
    Ok(Some((output, error_output)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_does_not_answer_is_killed() {
        let sh = Path::new("/bin/sh");
        let ask = |text: &str, limit: u64| {
            ask_client(sh, &["-c", text], b"word\n", &["HOME"], Duration::from_millis(limit))
                .expect("the client runs")
        };
        match ask("read a; echo $a$HOME; echo no >&2; exit 3", 10_000) {
            ClientOutcome::Answered(output) => {
                assert_eq!((output.code, &output.output[..]), (Some(3), &b"word\n"[..]));
                assert_eq!(output.error_output, "no");
            }
            ClientOutcome::Silent => panic!("it answered"),
        }
        let began = super::super::clock::mono_ms();
        assert!(matches!(ask("exec sleep 60", 100), ClientOutcome::Silent));
        assert!(super::super::clock::mono_ms() - began < 30_000);
    }
}
