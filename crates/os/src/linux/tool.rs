//! Runs tools of the system.

use crate::InitSystem;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The result of a tool.
#[derive(Clone, Debug)]
pub struct ToolOutput {
    /// `None` if a signal killed it.
    pub code: Option<i32>,
    pub output: Vec<u8>,
    pub error_output: String,
}

/// Runs a tool to its end, with `input` on its standard input.
#[expect(clippy::disallowed_methods, reason = "a tool is no run: it ends before this call returns")]
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
    // On its own thread: the tool may answer before it has read all its input.
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
        child.wait_with_output()
    })?;
    Ok(ToolOutput {
        code: output.status.code(),
        output: output.stdout,
        error_output: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

/// Runs a program to its end on our own terminal. Returns its exit code; `None` if a signal killed it.
#[expect(
    clippy::disallowed_methods,
    reason = "a program on our terminal is no run: it ends before this call returns"
)]
pub fn run_here(program: &Path, arguments: &[&str]) -> io::Result<Option<i32>> {
    Ok(Command::new(program).args(arguments).status()?.code())
}

/// Starts a tool that ends with the run that this process is part of. The environment variable `without` is removed.
#[expect(clippy::disallowed_methods, reason = "it is part of our run, which is ended as a whole")]
pub fn start_tool<A: AsRef<OsStr>>(
    program: &Path,
    arguments: &[A],
    without: &str,
) -> io::Result<()> {
    let mut tool = Command::new(program);
    tool.args(arguments).env_remove(without).stdin(Stdio::null()).spawn().map(drop)
}

/// Executes another program in this process, with additional environment variables. Returns only on failure.
pub fn become_program<A: AsRef<OsStr>>(
    program: &Path,
    arguments: &[A],
    variables: &[(&str, &str)],
) -> io::Error {
    Command::new(program).args(arguments).envs(variables.iter().copied()).exec()
}

/// Finds a program of this name in `PATH`.
pub fn find_tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let is_program = |file: &Path| {
        std::fs::metadata(file)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_program(file))
}

/// The service manager of this machine, if Ostler supports it.
pub fn init_system() -> Option<InitSystem> {
    // As in sd_booted(3): the directory exists if and only if systemd is process 1.
    Path::new("/run/systemd/system").is_dir().then_some(InitSystem::Systemd)
}
