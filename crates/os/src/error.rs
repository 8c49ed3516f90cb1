use ostler_model::SpawnErrorKind;
use std::io;
use thiserror::Error;

/// The step of a spawn that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SpawnStage {
    Prepare = 0,
    Clone = 1,
    Scope = 2,
    Session = 3,
    Terminal = 4,
    Stdio = 5,
    Directory = 6,
    Limits = 7,
    Execute = 8,
    /// A limit (a cgroup or an rlimit) could not be set.
    Group = 9,
}

/// Why a program could not be started. The message says how to fix it.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct SpawnError {
    pub kind: SpawnErrorKind,
    pub stage: SpawnStage,
    pub message: String,
    #[source]
    pub source: io::Error,
}

impl SpawnError {
    pub fn new(
        stage: SpawnStage,
        errno: i32,
        program: &str,
        directory: &str,
        exists: bool,
    ) -> Self {
        let source = io::Error::from_raw_os_error(errno);
        let (kind, message) = match (stage, errno) {
            (SpawnStage::Directory, _) => (
                SpawnErrorKind::BadDirectory,
                format!(
                    "cannot start in {directory:?}: {source}; pass an existing directory with --cwd"
                ),
            ),
            (SpawnStage::Execute, libc::ENOENT | libc::ENOTDIR) if exists => (
                SpawnErrorKind::NotExecutable,
                format!(
                    "cannot execute {program:?}: the interpreter or loader it names does not exist"
                ),
            ),
            (SpawnStage::Execute, libc::ENOENT | libc::ENOTDIR) if program.contains('/') => {
                (SpawnErrorKind::NotFound, format!("{program:?} not found: no such file"))
            }
            (SpawnStage::Execute, libc::ENOENT | libc::ENOTDIR) => (
                SpawnErrorKind::NotFound,
                format!("{program:?} not found: it is in no directory of PATH"),
            ),
            (SpawnStage::Execute, libc::EACCES | libc::ENOEXEC | libc::EISDIR) => (
                SpawnErrorKind::NotExecutable,
                format!(
                    "cannot execute {program:?}: {source}; it must be a program file with the execute permission"
                ),
            ),
            (_, libc::E2BIG) => (
                SpawnErrorKind::TooBig,
                format!(
                    "cannot execute {program:?}: its arguments and environment exceed the kernel's limit"
                ),
            ),
            (_, libc::EMFILE) => (
                SpawnErrorKind::OutOfDescriptors,
                format!(
                    "cannot start {program:?}: out of file descriptors: the daemon's limit is {}; end some runs, or start the daemon with a higher limit (ulimit -Hn)",
                    crate::platform::files::descriptor_limit()
                ),
            ),
            (_, libc::ENFILE) => (
                SpawnErrorKind::OutOfDescriptors,
                format!(
                    "cannot start {program:?}: the machine is out of file descriptors; end some processes, or raise fs.file-max"
                ),
            ),
            (_, libc::EAGAIN) => (
                SpawnErrorKind::OutOfProcesses,
                format!(
                    "cannot start {program:?}: the process limit is reached; end some processes, or raise the limit (ulimit -u, pids.max)"
                ),
            ),
            (_, libc::ENOMEM) => {
                (SpawnErrorKind::OutOfMemory, format!("cannot start {program:?}: out of memory"))
            }
            (stage, _) => {
                (SpawnErrorKind::Other, format!("cannot start {program:?} ({stage:?}): {source}"))
            }
        };
        Self { kind, stage, message, source }
    }
}
