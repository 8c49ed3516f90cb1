//! The identity of a process: pid, start time and boot id, read from the kernel.

use super::process::{Process, open_pid, unique_number};
use super::stat_line::StatLine;
use ostler_model::Fingerprint;
use std::fs;
use std::os::fd::AsFd;
use std::sync::OnceLock;

pub fn boot_id() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map(|id| id.trim().to_owned())
            .unwrap_or_else(|_| "unknown".to_owned())
    })
}

/// The fields of `/proc/PID/stat` that identity and membership need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stat {
    pub(super) dead: bool,
    /// By a signal, not by a debugger.
    pub(super) stopped: bool,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) session: i32,
    /// The device number of its controlling terminal; 0 if it has none.
    pub(super) terminal: i32,
    pub(super) start_time: u64,
    exit_status: Option<i32>,
}

pub(super) fn stat(pid: i32) -> Option<Stat> {
    Stat::from_line(&StatLine::of(pid)?)
}

impl Stat {
    fn from_line(line: &StatLine) -> Option<Self> {
        Some(Self {
            dead: line.is_dead()?,
            stopped: line.field(3)? == "T",
            parent: line.number(4)?,
            group: line.number(5)?,
            session: line.number(6)?,
            terminal: line.number(7)?,
            start_time: line.number(22)?,
            exit_status: line.number(52),
        })
    }
}

/// The wait status of a zombie. To a process without permission the kernel shows 0.
pub(super) fn zombie_status(process: &Fingerprint) -> Option<i32> {
    // Checked first: the start time below then proves that the check was about this process.
    let may_know = may_know_end(process.pid);
    let stat =
        stat(process.pid).filter(|stat| stat.dead && stat.start_time == process.start_time)?;
    stat.exit_status.filter(|_| may_know)
}

/// Whether the kernel shows us the exit status of this zombie. It does if all its ids are ours and its capabilities do
/// not exceed ours, or if we may inspect every process. Reading its `io` file needs the same permission, but a zombie's
/// `io` file belongs to root.
fn may_know_end(pid: i32) -> bool {
    let read = |who: &str| fs::read_to_string(format!("/proc/{who}/status")).unwrap_or_default();
    let (own, theirs) = (read("self"), read(&pid.to_string()));
    let ids = |status: &str, name: &str| -> Vec<String> {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_ascii_whitespace().map(str::to_owned).collect()
    };
    let is_ours = |name: &str| {
        // Real, effective, saved, and filesystem id. The kernel checks the caller's filesystem id.
        let (own, theirs) = (ids(&own, name), ids(&theirs, name));
        own.len() == 4 && theirs.len() == 4 && theirs[..3].iter().all(|id| *id == own[3])
    };
    let powers = |status: &str, name: &str| {
        ids(status, name).first().and_then(|set| u64::from_str_radix(set, 16).ok())
    };
    let is_weaker = match (powers(&own, "CapEff:"), powers(&theirs, "CapPrm:")) {
        (Some(own), Some(theirs)) => theirs & !own == 0,
        (Some(_), None) | (None, _) => false,
    };
    (is_ours("Uid:") && is_ours("Gid:") && is_weaker) || fs::read(format!("/proc/{pid}/io")).is_ok()
}

/// The fingerprint of the process that has this pid now.
pub fn fingerprint_of(pid: i32) -> Option<Fingerprint> {
    let descriptor = open_pid(pid)?;
    let start_time = stat(pid)?.start_time;
    let unique = unique_number(descriptor.as_fd());
    Some(Fingerprint { pid, start_time, boot_id: boot_id().to_owned(), unique })
}

/// Whether a process has this pid, alive or a zombie. Needs no descriptor.
pub fn is_taken(pid: i32) -> bool {
    let Some(pid) = rustix::process::Pid::from_raw(pid) else { return false };
    rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
}

/// When the process that has this pid started, in the kernel's ticks.
pub fn start_time_of(pid: i32) -> Option<u64> {
    stat(pid).map(|stat| stat.start_time)
}

/// Whether a signal has stopped this process.
pub fn is_stopped(pid: i32) -> bool {
    stat(pid).is_some_and(|stat| stat.stopped)
}

/// The user a process runs as.
pub fn user_of(pid: i32) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(format!("/proc/{pid}")).ok().map(|folder| folder.uid())
}

/// The pid of the current parent.
pub fn parent_pid() -> i32 {
    rustix::process::getppid().map_or(0, |pid| pid.as_raw_pid())
}

/// Whether the recorded process is alive: the same process, and not a zombie.
pub fn is_same_process(recorded: &Fingerprint) -> bool {
    Process::open(recorded).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_with_parentheses_and_spaces_is_parsed() {
        let line =
            b"42 (a) R 1 (b) S 7 43 44 34819 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 1 2 3";
        let line = StatLine::parse(line).expect("parses");
        let stat = Stat::from_line(&line).expect("has all fields");
        assert_eq!((stat.group, stat.session, stat.start_time, stat.dead), (43, 44, 98765, false));
        assert_eq!(stat.terminal, 34819);
    }

    #[test]
    fn a_pid_with_another_start_time_is_another_process() {
        let pid = rustix::process::getpid().as_raw_pid();
        let me = fingerprint_of(pid).expect("this process exists");
        assert!(is_same_process(&me));
        assert!(!is_same_process(&Fingerprint { start_time: me.start_time + 1, ..me.clone() }));
        assert!(!is_same_process(&Fingerprint { boot_id: "another".to_owned(), ..me.clone() }));
        // A pid that was reused within one tick of the clock.
        if let Some(unique) = me.unique {
            assert!(!is_same_process(&Fingerprint { unique: Some(unique + 1), ..me }));
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the child stays unreaped")]
    fn a_zombie_of_our_own_has_its_exit_status() {
        let mut child = std::process::Command::new("sh");
        let mut child = child.args(["-c", "exit 7"]).spawn().expect("a child");
        let process = fingerprint_of(child.id() as i32).expect("the child exists");
        let ended = (0..3_000).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            zombie_status(&process)
        });
        child.wait().expect("our child");
        assert_eq!(ended, Some(7 << 8));
        assert_eq!(zombie_status(&process), None);
    }
}
