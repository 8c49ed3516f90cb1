//! What the kernel says about processes.

use crate::waiting::PATIENCE;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fmt;
use std::fs;
use std::process::{Child, Command, Stdio};

/// One process: its pid and start time, so that a process that reused the pid is not mistaken for it.
#[derive(Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub start_time: u64,
}

impl Process {
    /// `None` if it does not exist or is a zombie.
    pub fn find(pid: i32) -> Option<Self> {
        let stat = Stat::read(pid)?;
        (!stat.dead).then_some(Self { pid, start_time: stat.start_time })
    }

    pub fn is_alive(&self) -> bool {
        Self::find(self.pid).is_some_and(|now| now.start_time == self.start_time)
    }

    /// Waits until its last thread has ended, and its descriptors are closed.
    pub fn wait_gone(&self) {
        let handle =
            Pid::from_raw(self.pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        // Its first thread may be a zombie already while others still hold the socket open.
        let same = Stat::read(self.pid).is_some_and(|stat| stat.start_time == self.start_time);
        if let Some(handle) = handle.filter(|_| same) {
            let limit = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
            let _ = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&limit));
        }
        assert!(!self.is_alive(), "{self:?} is still there after {PATIENCE:?}");
    }

    pub fn signal(&self, signal: Signal) {
        if self.is_alive() {
            crate::process::signal(self.pid, signal);
        }
    }

    pub fn group(&self) -> i32 {
        Stat::read(self.pid).map_or(0, |stat| stat.group)
    }

    pub fn session(&self) -> i32 {
        Stat::read(self.pid).map_or(0, |stat| stat.session)
    }

    /// `S`, `T`, … as in /proc/PID/stat.
    pub fn state(&self) -> Option<char> {
        Stat::read(self.pid).map(|stat| stat.state)
    }

    /// Whether this is in the environment it was started with.
    pub fn has_variable(&self, variable: &str) -> bool {
        fs::read(format!("/proc/{}/environ", self.pid)).is_ok_and(|environment| {
            environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
        })
    }

    /// The value of this variable in the environment it was started with. An entry without its final zero is incomplete:
    /// the kernel stops early when the process ends during the read.
    pub fn variable(&self, name: &str) -> Option<String> {
        let environment = fs::read(format!("/proc/{}/environ", self.pid)).ok()?;
        environment.split_inclusive(|byte| *byte == 0).find_map(|entry| {
            let entry = std::str::from_utf8(entry.strip_suffix(&[0])?).ok()?;
            let (known, value) = entry.split_once('=')?;
            (known == name).then(|| value.to_owned())
        })
    }

    pub fn cgroup(&self) -> String {
        let groups = fs::read_to_string(format!("/proc/{}/cgroup", self.pid)).unwrap_or_default();
        groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default().to_owned()
    }

    /// The arguments it was started with.
    pub fn arguments(&self) -> Vec<String> {
        let line = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        let words = String::from_utf8_lossy(&line).into_owned();
        words.trim_end_matches('\0').split('\0').map(str::to_owned).collect()
    }

    pub fn command(&self) -> String {
        let bytes = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ").trim().to_owned()
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:.120})", self.pid, self.command())
    }
}

struct Stat {
    state: char,
    dead: bool,
    group: i32,
    session: i32,
    start_time: u64,
}

impl Stat {
    fn read(pid: i32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name may hold anything, also spaces and parentheses.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let state = fields.first()?.chars().next()?;
        Some(Self {
            state,
            dead: matches!(state, 'Z' | 'X'),
            group: fields.get(2)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            start_time: fields.get(19)?.parse().ok()?,
        })
    }
}

/// Every live process with this variable in its environment.
pub fn processes_with(variable: &str) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(Process::find)
        .filter(|process| process.has_variable(variable))
        .collect()
}

/// Through a pidfd: if the process is gone, no other process gets the signal.
pub fn signal(pid: i32, signal: Signal) {
    let Some(number) = Pid::from_raw(pid) else { return };
    if let Ok(handle) = pidfd_open(number, PidfdFlags::empty()) {
        let _ = pidfd_send_signal(handle, signal);
    }
}

pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("boot id").trim().to_owned()
}

/// A process outside of Ostler, which must survive everything that Ostler does.
pub struct Bystander {
    child: Child,
    process: Process,
}

impl Bystander {
    pub fn start(program: &str, arguments: &[&str]) -> Self {
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the bystander starts");
        let process = Process::find(child.id() as i32).expect("the bystander is running");
        Self { child, process }
    }

    pub fn process(&self) -> &Process {
        &self.process
    }

    pub fn assert_alive(&mut self) {
        let ended = self.child.try_wait().expect("a bystander can be waited for");
        assert!(ended.is_none(), "the bystander {:?} was ended: {ended:?}", self.process);
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
