//! A process in a terminal pane. tmux starts a pane's first process as its own child, outside of the run's scope. That
//! process joins the run's cgroups itself before it executes the program, and a note records which process it is and
//! whether the kernel let it join.

use super::cgroup::{SELF, unescape};
use super::identity::stat;
use super::process::Ending;
use rustix::fs::Mode;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// The process in a pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaneNote {
    pub pid: i32,
    start_time: u64,
    /// Whether the process joined the run's cgroups. If not, it is known only by its descent.
    pub is_joined: bool,
    /// The POSIX session of its terminal.
    pub session: i32,
}

impl PaneNote {
    /// Call it while the process cannot end: its pid must not be reused before the note is written.
    pub fn of(pid: i32, is_joined: bool) -> Option<Self> {
        let stat = stat(pid)?;
        Some(Self { pid, start_time: stat.start_time, is_joined, session: stat.session })
    }

    /// The note's first line.
    pub fn line(&self) -> String {
        let joined = if self.is_joined { "joined" } else { "apart" };
        format!("{} {} {joined} {}", self.pid, self.start_time, self.session)
    }

    pub fn read(path: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(path).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.lines().next()?.split(' ');
        let (pid, start_time) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let is_joined = words.next()? == "joined";
        Some(Self { pid, start_time, is_joined, session: words.next()?.parse().ok()? })
    }

    /// Whether that very process is alive.
    pub fn is_alive(&self) -> bool {
        stat(self.pid).is_some_and(|now| now.start_time == self.start_time && !now.dead)
    }

    /// Whether the pane process that leads the terminal's session is alive. It is older than the program; a process
    /// that reused its pid is not.
    pub(super) fn is_pane_process_alive(&self) -> bool {
        stat(self.session).is_some_and(|process| {
            !process.dead
                && process.session == self.session
                && process.start_time <= self.start_time
        })
    }

    /// The terminal of the process, while the process is alive.
    pub fn terminal(&self) -> Option<PathBuf> {
        let now = stat(self.pid).filter(|now| now.start_time == self.start_time)?;
        terminal_numbered(now.terminal)
    }
}

/// The controlling terminal of a process.
pub fn controlling_terminal(pid: i32) -> Option<PathBuf> {
    terminal_numbered(stat(pid)?.terminal)
}

/// The kernel encodes a terminal's device number, from its lowest bit on, as eight bits of the minor number, twelve of
/// the major, and twelve more of the minor.
fn terminal_numbered(device: i32) -> Option<PathBuf> {
    const PSEUDO_TERMINALS: u32 = 136;
    let device = device as u32;
    let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xf_ff00));
    (major == PSEUDO_TERMINALS).then(|| PathBuf::from(format!("/dev/pts/{minor}")))
}

/// The `cgroup.procs` files of this process's cgroups that were made for one run: its boundary and its limits. A
/// process must not be moved to cgroups that are not the run's own.
pub fn groups_of_run(run: &str) -> Vec<PathBuf> {
    let name = format!("run-{run}");
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_line = |line: &str| -> Option<PathBuf> {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, own) = (fields.next()?, fields.next()?);
        own.split('/').any(|part| part == name).then_some(())?;
        let (root, mount) = mounts.lines().find_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let mut kind = after.split(' ');
            let is_here = match (kind.next()?, controllers) {
                ("cgroup2", "") => true,
                ("cgroup", "") | ("cgroup2", _) => false,
                ("cgroup", controllers) => {
                    let options = kind.nth(1)?;
                    let first = controllers.split(',').next()?;
                    options.split(',').any(|option| option == first)
                }
                _ => false,
            };
            let mut fields = before.split(' ').skip(3);
            is_here.then(|| Some((unescape(fields.next()?), unescape(fields.next()?))))?
        })?;
        // In a container only a part of the hierarchy may be mounted.
        let own = if root == "/" { own } else { own.strip_prefix(&root).unwrap_or(own) };
        Some(Path::new(&mount).join(own.trim_start_matches('/')).join("cgroup.procs"))
    };
    groups.lines().filter_map(of_line).collect()
}

/// Moves this process to a cgroup. Returns whether that was allowed.
pub fn join_group(members: &Path) -> bool {
    fs::write(members, std::process::id().to_string()).is_ok()
}

/// Leaves the run's cgroups this process was started in, for the cgroup of the supervisor: for a process that a run
/// starts and that is not part of it. Returns whether this process is in no run's cgroup any more.
pub fn leave_run() -> bool {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let runs: BTreeSet<&str> =
        groups.split('/').filter_map(|part| part.trim_end().strip_prefix("run-")).collect();
    runs.into_iter().all(leave_groups_of)
}

fn leave_groups_of(run: &str) -> bool {
    let beside = |members: &PathBuf| -> Option<PathBuf> {
        let parent = members.parent()?.ancestors().find(|folder| {
            let name = folder.file_name().and_then(OsStr::to_str).unwrap_or_default();
            name.starts_with("ostler-")
        })?;
        let above = parent.parent()?;
        let own = above.join(SELF).join("cgroup.procs");
        Some(if own.exists() { own } else { above.join("cgroup.procs") })
    };
    let mut groups = groups_of_run(run).into_iter();
    groups.all(|members| beside(&members).is_some_and(|beside| join_group(&beside)))
}

/// The attributes that a program inherits from its parent, besides arguments and environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessAttrs {
    pub umask: u32,
    /// Soft and hard limit; `None` is no limit.
    pub descriptors: [Option<u64>; 2],
    pub data: [Option<u64>; 2],
    pub nice: i32,
    pub memory_score: i32,
}

/// The attributes of this process.
pub fn own_attrs() -> ProcessAttrs {
    use rustix::process::{Resource, getpriority_process, getrlimit};
    let limit = |resource| {
        let limit = getrlimit(resource);
        [limit.current, limit.maximum]
    };
    let score = fs::read_to_string("/proc/self/oom_score_adj").unwrap_or_default();
    ProcessAttrs {
        umask: super::files::umask(),
        descriptors: limit(Resource::Nofile),
        data: limit(Resource::Data),
        nice: getpriority_process(None).unwrap_or(0),
        memory_score: score.trim().parse().unwrap_or(0),
    }
}

/// The program on the terminal that this process leads. The program has its own process group in the terminal's
/// foreground, so that a query of the terminal finds the program and not this process. This process stays until the
/// program's last output has been read.
#[derive(Debug)]
pub struct PaneProgram {
    child: Child,
}

/// Terminal signals are for the foreground program. A hang-up is forwarded to it.
const NOT_FOR_US: [i32; 6] =
    [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

impl PaneProgram {
    /// Starts the program with these attributes and this environment. On failure, returns the step that failed.
    #[expect(unsafe_code, reason = "signals, and a group for the child in the foreground")]
    #[expect(
        clippy::disallowed_methods,
        reason = "the child is in the run's cgroups already, on a terminal of tmux"
    )]
    pub fn start(
        arguments: &[OsString],
        environment: &[OsString],
        folder: &Path,
        attrs: &ProcessAttrs,
    ) -> Result<Self, (&'static str, io::Error)> {
        let Some((program, rest)) = arguments.split_first() else {
            return Err(("read its arguments", io::ErrorKind::InvalidInput.into()));
        };
        rustix::process::chdir(folder).map_err(|error| ("enter its directory", error.into()))?;
        attrs.take_on();
        // SAFETY: plain calls that affect this single-threaded process only; the set is initialised before it is read.
        unsafe {
            let received = received();
            libc::sigprocmask(libc::SIG_BLOCK, &raw const received, std::ptr::null_mut());
            for signal in NOT_FOR_US {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
        let mut command = Command::new(program);
        command.args(rest).env_clear();
        for word in environment {
            let bytes = word.as_bytes();
            let at = bytes.iter().position(|byte| *byte == b'=').unwrap_or(bytes.len());
            let value = bytes.get(at + 1..).unwrap_or_default();
            command.env(OsStr::from_bytes(&bytes[..at]), OsStr::from_bytes(value));
        }
        // SAFETY: only calls that are allowed between fork and exec, and no memory is touched.
        unsafe {
            command.pre_exec(|| {
                libc::setpgid(0, 0);
                libc::tcsetpgrp(0, libc::getpid());
                for signal in NOT_FOR_US {
                    libc::signal(signal, libc::SIG_DFL);
                }
                Ok(())
            });
        }
        let child = command.spawn().map_err(|error| ("execute", error))?;
        Ok(Self { child })
    }

    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Waits until the program has ended. Its zombie is kept, so that its pid is not reused before `release`.
    #[expect(unsafe_code, reason = "rustix has no sigwaitinfo")]
    #[expect(clippy::disallowed_methods, reason = "an unreaped child: its pid cannot be reused")]
    pub fn wait_ended(&self) -> Ending {
        let pid = self.pid();
        loop {
            // SAFETY: plain out parameters; the child is ours and not reaped.
            unsafe {
                let mut seen = std::mem::zeroed::<libc::siginfo_t>();
                let which = libc::WEXITED | libc::WSTOPPED | libc::WNOHANG | libc::WNOWAIT;
                let description =
                    libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut seen, which);
                if description == 0 && seen.si_pid() == pid {
                    let status = seen.si_status();
                    match seen.si_code {
                        libc::CLD_EXITED => return Ending::Code(status),
                        libc::CLD_KILLED | libc::CLD_DUMPED => return Ending::Signal(status),
                        // No shell could continue it: a key must not stop it for good.
                        _ if matches!(status, libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) => {
                            libc::kill(pid, libc::SIGCONT);
                        }
                        _ => {}
                    }
                    let stopped = libc::WSTOPPED | libc::WNOHANG;
                    libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut seen, stopped);
                }
                reap_others(pid);
                let received = received();
                if libc::sigwaitinfo(&raw const received, std::ptr::null_mut()) == libc::SIGHUP {
                    libc::kill(pid, libc::SIGHUP);
                }
            }
        }
    }

    /// Writes the last text to the terminal.
    pub fn write_last(&self, text: &[u8]) {
        let _ = rustix::termios::tcsetpgrp(rustix::stdio::stdin(), rustix::process::getpgrp());
        let _ = super::pipe::write_all(rustix::stdio::stdout(), text);
    }

    /// Reaps the program. Its pid may be reused from here on.
    #[expect(clippy::disallowed_methods, reason = "a child of this process")]
    pub fn release(mut self) {
        let _ = self.child.wait();
    }
}

/// Reaps the orphans that were reparented to this process. The program's own zombie is kept.
#[expect(unsafe_code, reason = "rustix does not wait for any child with its pid")]
#[expect(clippy::disallowed_methods, reason = "ended orphans whose status is not needed")]
fn reap_others(program: i32) {
    // SAFETY: a plain out parameter; zeroed, because the kernel leaves it so when no child has ended.
    unsafe {
        loop {
            let mut seen = std::mem::zeroed::<libc::siginfo_t>();
            let which = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            if libc::waitid(libc::P_ALL, 0, &raw mut seen, which) != 0 {
                return;
            }
            match seen.si_pid() {
                0 => return,
                pid if pid == program => return,
                pid => libc::waitpid(pid, std::ptr::null_mut(), 0),
            };
        }
    }
}

/// SIGHUP (the terminal goes away) and SIGCHLD (the child has changed).
#[expect(unsafe_code, reason = "a set of signals")]
fn received() -> libc::sigset_t {
    // SAFETY: initialised by sigemptyset before it is read.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGHUP);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        set
    }
}

impl ProcessAttrs {
    /// A limit that this process may not set stays as it is.
    fn take_on(&self) {
        use rustix::process::{Resource, Rlimit, setpriority_process, setrlimit};
        rustix::process::umask(Mode::from_raw_mode(self.umask));
        let limit = |resource, [current, maximum]: [Option<u64>; 2]| {
            let _ = setrlimit(resource, Rlimit { current, maximum });
        };
        limit(Resource::Nofile, self.descriptors);
        limit(Resource::Data, self.data);
        let _ = setpriority_process(None, self.nice);
        let _ = fs::write("/proc/self/oom_score_adj", self.memory_score.to_string());
    }
}

/// Creates a named pipe for this user alone, replacing any existing file, and opens its reading end. It does not wait
/// for a writer.
pub fn make_fifo(path: &Path) -> io::Result<std::os::fd::OwnedFd> {
    use rustix::fs::{CWD, FileType, OFlags, mknodat, open};
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
    Ok(open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?)
}

/// The environment of this process, unchanged.
pub fn own_environment() -> Vec<OsString> {
    std::env::vars_os()
        .map(|(name, value)| {
            let mut word = name.into_vec();
            word.push(b'=');
            word.extend_from_slice(OsStr::as_bytes(&value));
            OsString::from_vec(word)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_exactly_one_process() {
        let own = std::process::id() as i32;
        let note = PaneNote::of(own, true).expect("this process exists");
        assert!(note.is_alive());
        let again = PaneNote::parse(&format!("{}\n{{}}\n", note.line())).expect("it reads back");
        assert_eq!(again, note);
        assert!(!PaneNote { start_time: note.start_time + 1, ..note }.is_alive());
        assert_eq!(PaneNote::parse(""), None);
        assert_eq!(PaneNote::parse("12 x joined 7"), None);
    }

    #[test]
    fn only_groups_of_the_run_are_entered() {
        assert_eq!(groups_of_run("01234567-no-such-run"), Vec::<PathBuf>::new());
    }
}
