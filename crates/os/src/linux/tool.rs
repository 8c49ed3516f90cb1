//! Tools of the system that we ask for something: they are over before we go on.

use crate::InitSystem;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a tool came to.
#[derive(Clone, Debug)]
pub struct ToolOutput {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub output: Vec<u8>,
    pub complaint: String,
}

/// Runs a tool to its end, with this on its standard input.
#[expect(
    clippy::disallowed_methods,
    reason = "a tool of the system is no run: it ends before the caller goes on"
)]
pub fn run_tool<A: AsRef<OsStr>>(
    program: &str,
    arguments: &[A],
    input: &[u8],
) -> io::Result<ToolOutput> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let stdin = child.stdin.take();
    // On a thread of its own: it may answer before it has read everything.
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
        child.wait_with_output()
    })?;
    Ok(ToolOutput {
        code: output.status.code(),
        output: output.stdout,
        complaint: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

/// Runs a program to its end on our own terminal: its exit code, if no signal ended it.
#[expect(
    clippy::disallowed_methods,
    reason = "it has our terminal, and we wait: it ends before the caller goes on"
)]
pub fn run_here(program: &Path, arguments: &[&str]) -> io::Result<Option<i32>> {
    Ok(Command::new(program).args(arguments).status()?.code())
}

/// Starts a tool that serves us for as long as our own run lasts: the run's end is its end. Without this variable.
#[expect(clippy::disallowed_methods, reason = "it is in our run, which is ended whole")]
pub fn start_tool<A: AsRef<OsStr>>(
    program: &Path,
    arguments: &[A],
    without: &str,
) -> io::Result<()> {
    let mut tool = Command::new(program);
    tool.args(arguments).env_remove(without).stdin(Stdio::null()).spawn().map(drop)
}

/// This process becomes another program, with these variables beside its own. Returns only if it cannot.
pub fn become_program<A: AsRef<OsStr>>(
    program: &Path,
    arguments: &[A],
    variables: &[(&str, &str)],
) -> io::Error {
    Command::new(program).args(arguments).envs(variables.iter().copied()).exec()
}

/// Where `PATH` has a program of this name.
pub fn find_tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let is_program = |file: &Path| {
        std::fs::metadata(file)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_program(file))
}

/// Who starts services on this machine, if it is somebody we know.
pub fn init_system() -> Option<InitSystem> {
    // What sd_booted looks at: the folder is there if and only if systemd is process 1.
    Path::new("/run/systemd/system").is_dir().then_some(InitSystem::Systemd)
}
