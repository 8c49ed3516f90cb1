//! Starts our own executable in the background, detached from the caller's terminal.

use rustix::pipe::{PipeFlags, pipe_with};
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A started process that has not yet reported whether it is ready.
#[derive(Debug)]
pub struct Background {
    line: File,
}

/// Starts the program in a new session. Its standard output is a pipe on which it reports.
#[expect(clippy::disallowed_methods, reason = "the guardian is not a run")]
pub fn start_background(
    program: &Path,
    arguments: &[&std::ffi::OsStr],
    environment: &[(&str, OsString)],
    log: File,
) -> io::Result<Background> {
    let mut command = Command::new(program);
    let (line, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
    command
        .args(arguments)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::from(theirs))
        .stderr(Stdio::from(log));
    #[expect(unsafe_code, reason = "std can neither make a grandchild nor a session")]
    // SAFETY: fork, setsid and _exit are allowed here and touch no memory.
    unsafe {
        // A grandchild, so that a long-lived caller that never waits gets no zombie.
        command.pre_exec(|| match libc::fork() {
            -1 => Err(io::Error::last_os_error()),
            0 => rustix::process::setsid().map(|_| ()).map_err(io::Error::from),
            _ => libc::_exit(0),
        });
    }
    command.spawn()?.wait()?;
    Ok(Background { line: File::from(line) })
}

/// Starts our own executable as a sibling: a child of this process's parent. It is not owned by this process and does
/// not end with it.
#[expect(unsafe_code, reason = "only the raw call creates a sibling")]
#[expect(clippy::disallowed_methods, reason = "the guardian is not a run")]
pub fn start_beside(
    arguments: &[&std::ffi::OsStr],
    environment: &[(&str, OsString)],
    log: &File,
) -> io::Result<(i32, Background)> {
    let text = |bytes: &[u8]| {
        CString::new(bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
    };
    let mut words = vec![text(b"ostler")?];
    for argument in arguments {
        words.push(text(argument.as_bytes())?);
    }
    let mut variables = Vec::new();
    for (name, value) in std::env::vars_os() {
        if !environment.iter().any(|(own, _)| name == **own) {
            variables.push(text(&[name.as_bytes(), b"=", value.as_bytes()].concat())?);
        }
    }
    for (name, value) in environment {
        variables.push(text(&[name.as_bytes(), b"=", value.as_bytes()].concat())?);
    }
    let pointers = |list: &[CString]| -> Vec<*const libc::c_char> {
        list.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (words_at, variables_at) = (pointers(&words), pointers(&variables));
    let program = own_executable()?;
    let null = File::open("/dev/null")?;
    let (line, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
    let stdio: [(&dyn AsRawFd, i32); 3] = [(&null, 0), (&theirs as &OwnedFd, 1), (log, 2)];
    // SAFETY: a plain fork of this process without its other threads; the child only makes calls that are allowed then,
    // on memory that was prepared before.
    let child = unsafe {
        let child = libc::syscall(libc::SYS_clone, libc::CLONE_PARENT, 0, 0, 0, 0);
        if child < 0 {
            return Err(io::Error::last_os_error());
        }
        if child == 0 {
            libc::setsid();
            for (descriptor, number) in stdio {
                libc::dup2(descriptor.as_raw_fd(), number);
            }
            let mut none = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            libc::execve(program.as_ptr(), words_at.as_ptr(), variables_at.as_ptr());
            libc::_exit(127);
        }
        child
    };
    Ok((child as i32, Background { line: File::from(line) }))
}

/// The path of the running executable if the path still names it, so that the process list shows its name; otherwise
/// `/proc/self/exe`.
pub(super) fn own_executable() -> io::Result<CString> {
    let own = Path::new("/proc/self/exe");
    let path = std::fs::read_link(own)?;
    let path = if is_own_executable(&path) { path.as_path() } else { own };
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Whether `path` is still the running executable.
fn is_own_executable(path: &Path) -> bool {
    match (std::fs::metadata("/proc/self/exe"), std::fs::metadata(path)) {
        (Ok(own), Ok(there)) => (own.dev(), own.ino()) == (there.dev(), there.ino()),
        (Err(_), _) | (_, Err(_)) => false,
    }
}

impl Background {
    /// Reads the report until end of file. Empty if the process died before it reported.
    pub fn report(mut self) -> String {
        let mut report = String::new();
        let _ = self.line.read_to_string(&mut report);
        report
    }
}

impl std::os::fd::AsFd for Background {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.line.as_fd()
    }
}
