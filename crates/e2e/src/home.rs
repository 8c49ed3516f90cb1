//! A home for one test. After the test, no process or file of it may be left.

use crate::call::{Background, Output};
use crate::process::{Process, processes_with};
use crate::skip::is_root;
use crate::waiting::eventually;
use rustix::process::Signal;
use serde_json::Value;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Every process that is started through a home has this variable with the home's own value.
const MARKER: &str = "OSTLER_E2E";

/// A user who is not root: uid 65534 on Linux.
pub const STRANGER: u32 = 65_534;

pub struct Home {
    folder: tempfile::TempDir,
    home: PathBuf,
    marker: String,
    variables: Vec<(String, String)>,
    disk: Option<PathBuf>,
    user: Option<u32>,
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Home {
    pub fn new() -> Self {
        Self::with(&[])
    }

    /// With these variables in the environment of every call, and so of the supervisor that the first call starts.
    pub fn with(variables: &[(&str, &str)]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder =
            tempfile::Builder::new().prefix("oe").tempdir().expect("a folder for the test");
        Self {
            home: folder.path().join("h"),
            marker: format!("{}-{number}", std::process::id()),
            variables: variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            folder,
            disk: None,
            user: None,
        }
    }

    /// A home of an ordinary user, who cannot create cgroups: every call runs as that user. If the
    /// tests do not run as root, it is the user who runs them.
    pub fn of_ordinary_user() -> Self {
        let mut home = Self::new();
        if is_root() {
            chown(home.folder(), Some(STRANGER), Some(STRANGER)).expect("the folder is given away");
            let binary = home.folder().join("ostler");
            let linked = std::fs::hard_link(Self::binary(), &binary);
            linked.or_else(|_| std::fs::copy(Self::binary(), &binary).map(drop)).expect("a copy");
            home.user = Some(STRANGER);
        } else {
            home.set("OSTLER_NO_CGROUP", "1");
        }
        home
    }

    /// Mounts a disk of this size in the test's folder; `None` without the permission.
    pub fn small_disk(&mut self, place: &str, bytes: u64) -> Option<PathBuf> {
        let path = self.folder.path().join(place);
        std::fs::create_dir_all(&path).expect("a folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={bytes},mode=700"), "ostler-e2e"])
            .arg(&path)
            .output()
            .is_ok_and(|output| output.status.success());
        mounted.then(|| self.disk.insert(path).clone())
    }

    /// Changes the size of a disk of the test.
    pub fn resize_disk(&self, path: &Path, bytes: u64) {
        let resized = Command::new("mount")
            .args(["-o", &format!("remount,size={bytes}")])
            .arg(path)
            .output()
            .expect("mount");
        assert!(resized.status.success(), "{resized:?}");
    }

    /// The same home at another path inside the test's folder.
    #[must_use]
    pub fn at(mut self, place: &str) -> Self {
        self.home = self.folder.path().join(place);
        self
    }

    /// The user that runs every call, if not the user who runs the tests.
    pub fn user(&self) -> Option<u32> {
        self.user
    }

    /// The folder of the test: for files of its own, beside the home.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self) -> &Path {
        &self.home
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    pub fn registry_file(&self) -> PathBuf {
        let named = self.variables.iter().find(|(name, _)| name == "OSTLER_REGISTRY");
        named.map_or_else(|| self.file("registry.db"), |(_, path)| path.into())
    }

    pub fn set(&mut self, name: &str, value: &str) {
        self.unset(name);
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    pub fn unset(&mut self, name: &str) {
        self.variables.retain(|(known, _)| known != name);
    }

    /// The binary under test: beside this test's own executable.
    pub fn binary() -> PathBuf {
        let own = std::env::current_exe().expect("an executable has a path");
        let profile = own.parent().and_then(Path::parent).expect("target/<profile>/deps/<test>");
        let binary = profile.join("ostler");
        assert!(binary.exists(), "{} is missing: run `cargo build` first", binary.display());
        binary
    }

    /// Any program, in this home's environment.
    pub fn program(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        for name in ["OSTLER_REGISTRY", "OSTLER_LEASE", "OSTLER_ADOPT", "OSTLER_RUN_ID", "TERM"] {
            command.env_remove(name);
        }
        for name in ["OSTLER_AGENT", "GT_ROLE", "BD_ACTOR"] {
            command.env_remove(name);
        }
        command.env("OSTLER_HOME", &self.home).env(MARKER, &self.marker);
        if let Some(user) = self.user {
            command.uid(user).gid(user).env("HOME", self.folder()).current_dir(self.folder());
        }
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        command
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        // An ordinary user may have no access to the folder that the tests were built in.
        let binary = self.user.map_or_else(Self::binary, |_| self.folder().join("ostler"));
        let mut command = self.program(binary);
        command.args(arguments);
        command
    }

    /// Runs the executable and waits for its end.
    pub fn ostler(&self, arguments: &[&str]) -> Output {
        Background::start(self.command(arguments), b"").finish()
    }

    pub fn ostler_with_input(&self, arguments: &[&str], input: &[u8]) -> Output {
        Background::start(self.command(arguments), input).finish()
    }

    /// Starts the executable in the background.
    pub fn spawn(&self, arguments: &[&str]) -> Background {
        Background::start(self.command(arguments), b"")
    }

    pub fn spawn_program(&self, command: Command) -> Background {
        Background::start(command, b"")
    }

    /// `ostler run --json --capture OPTIONS -- COMMAND`: the result.
    pub fn run(&self, options: &[&str], command: &[&str]) -> Value {
        let arguments = [&["run", "--json", "--capture"], options, &["--"], command].concat();
        self.ostler(&arguments).json()
    }

    /// `ostler run -d`: the id.
    #[track_caller]
    pub fn start(&self, options: &[&str], command: &[&str]) -> String {
        let arguments = [&["run", "-d"], options, &["--"], command].concat();
        self.ostler(&arguments).ok().text().trim().to_owned()
    }

    /// Starts a run and waits until it has written `ready`.
    #[track_caller]
    pub fn start_ready(&self, options: &[&str], command: &[&str]) -> String {
        let run = self.start(options, command);
        self.until_logged(&run, "ready");
        run
    }

    #[track_caller]
    pub fn wait(&self, run: &str) -> Value {
        self.ostler(&["wait", "--json", run]).ok().json()
    }

    #[track_caller]
    pub fn cancel(&self, run: &str) -> Value {
        self.ostler(&["cancel", "--json", run]).ok().json()
    }

    /// Follows the run's log until it contains this; returns what was written so far.
    pub fn until_logged(&self, run: &str, text: &str) -> String {
        self.spawn(&["logs", "-f", run]).until_written(text)
    }

    #[track_caller]
    pub fn records(&self) -> Vec<Value> {
        list(self.ostler(&["runs", "--json"]).ok().json())
    }

    #[track_caller]
    pub fn record(&self, run: &str) -> Value {
        let found = self.records().into_iter().find(|record| record["runId"] == run);
        found.unwrap_or_else(|| panic!("no record of {run}"))
    }

    /// The first process of a live run.
    #[track_caller]
    pub fn root(&self, run: &str) -> Process {
        let record = self.record(run);
        let pid = record["pid"].as_i64().unwrap_or_else(|| panic!("no pid: {record}")) as i32;
        Process::find(pid).unwrap_or_else(|| panic!("no process {pid}: {record}"))
    }

    #[track_caller]
    pub fn events(&self, run: &str) -> Vec<Value> {
        list(self.ostler(&["events", "--json", "--run", run]).ok().json())
    }

    /// How many journal entries of this kind the run has.
    #[track_caller]
    pub fn count(&self, run: &str, what: &str) -> usize {
        self.events(run).iter().filter(|event| event["what"] == what).count()
    }

    #[track_caller]
    pub fn event(&self, run: &str, what: &str) -> Value {
        let events = self.events(run);
        let found = events.iter().find(|event| event["what"] == what).cloned();
        found.unwrap_or_else(|| panic!("no {what} among {events:#?}"))
    }

    /// One value of `ostler metrics --json`; `label` is the value of its only label.
    #[track_caller]
    pub fn metric(&self, name: &str, label: Option<&str>) -> u64 {
        let samples = list(self.ostler(&["metrics", "--json"]).ok().json());
        let found = samples.iter().find(|sample| {
            sample["name"] == name
                && sample["labels"]
                    .as_object()
                    .is_some_and(|labels| labels.values().next().and_then(Value::as_str) == label)
        });
        let sample = found.unwrap_or_else(|| panic!("no {name} {label:?} in {samples:?}"));
        sample["value"].as_u64().expect("a number")
    }

    /// The supervisor process of this home.
    pub fn supervisor(&self) -> Option<Process> {
        self.own("supervisor")
    }

    pub fn guardian(&self) -> Option<Process> {
        self.own("guardian")
    }

    fn own(&self, verb: &str) -> Option<Process> {
        let called = |process: &Process| {
            let words = process.arguments();
            words.first().is_some_and(|word| word.ends_with("ostler"))
                && words.get(1).is_some_and(|word| word == verb)
        };
        self.processes().into_iter().find(called)
    }

    #[track_caller]
    pub fn supervisor_pid(&self) -> i32 {
        self.supervisor().expect("a supervisor").pid
    }

    /// Kills the supervisor and waits for its end. Its guardian will start another.
    #[track_caller]
    pub fn kill_supervisor(&self) {
        let supervisor = self.supervisor().expect("a supervisor");
        supervisor.signal(Signal::KILL);
        supervisor.wait_gone();
    }

    /// Kills guardian and supervisor at the same time: neither sees the other die.
    #[track_caller]
    pub fn kill_daemon(&self) {
        let supervisor = self.supervisor().expect("a supervisor");
        supervisor.signal(Signal::STOP);
        if let Some(guardian) = self.guardian() {
            guardian.signal(Signal::KILL);
            guardian.wait_gone();
        }
        supervisor.signal(Signal::KILL);
        supervisor.wait_gone();
    }

    pub fn variable(&self) -> String {
        format!("{MARKER}={}", self.marker)
    }

    /// Every live process that was started through this home, including the supervisor.
    pub fn processes(&self) -> Vec<Process> {
        processes_with(&self.variable())
    }

    /// The same without the supervisor and its guardian.
    pub fn processes_of_runs(&self) -> Vec<Process> {
        let own = [self.supervisor(), self.guardian()];
        self.processes()
            .into_iter()
            .filter(|process| !own.contains(&Some(process.clone())))
            .collect()
    }

    /// Runs `ostler stop`, and waits until the kernel has removed the supervisor's process.
    #[track_caller]
    pub fn stop(&self) {
        self.ostler(&["stop"]).ok();
        eventually("nothing of the home is left", || self.processes().is_empty().then_some(()));
    }

    /// The cgroups of this home that still exist: its parent cgroup, and those in it.
    pub fn boundaries(&self) -> (Option<PathBuf>, Vec<PathBuf>) {
        let instance = std::fs::read_to_string(self.file("instance")).unwrap_or_default();
        let own = Process::find(std::process::id() as i32).map(|own| own.cgroup());
        let room = cgroup_mount()
            .map(|mount| mount.join(own.unwrap_or_default().trim_start_matches('/')))
            .map(|parent| parent.join(format!("ostler-{}", instance.trim())))
            .filter(|room| !instance.is_empty() && room.exists());
        let entries =
            room.iter().filter_map(|room| std::fs::read_dir(room).ok()).flatten().flatten();
        let leaves = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let leaves = leaves.map(|entry| entry.path()).collect();
        (room, leaves)
    }

    fn try_stop(&self) -> Option<i32> {
        let mut stop = self.command(&["--no-start", "stop"]);
        stop.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut stop = stop.spawn().ok()?;
        let stopped = |stop: &mut std::process::Child| stop.try_wait().ok().flatten();
        let began = std::time::Instant::now();
        while began.elapsed() < Duration::from_secs(20) {
            if let Some(status) = stopped(&mut stop) {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = stop.kill();
        let _ = stop.wait();
        None
    }

    /// Ends everything; returns what the test had to kill.
    fn clear(&self) -> Vec<String> {
        for process in self.processes() {
            // A supervisor that a test stopped by a signal would never answer.
            process.signal(Signal::CONT);
        }
        let stopped = self.try_stop();
        if stopped == Some(3) && !self.processes().is_empty() {
            // A test killed it: the next one has to find the remaining processes.
            let _ = self.command(&["runs"]).output();
            self.try_stop();
        }
        let began = std::time::Instant::now();
        let mut left = self.processes();
        while !left.is_empty() && began.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(2));
            left = self.processes();
        }
        if left.is_empty() {
            return Vec::new();
        }
        let description = left.iter().map(|process| format!("{process:?}")).collect();
        eventually("the remaining processes are killed", || {
            let left = self.processes();
            for process in &left {
                process.signal(Signal::KILL);
            }
            left.is_empty().then_some(())
        });
        description
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let mut left = self.clear();
        let (room, leaves) = self.boundaries();
        left.extend(leaves.iter().map(|path| path.display().to_string()));
        for path in leaves.iter().chain(&room) {
            let _ = std::fs::remove_dir(path);
        }
        if let Some(disk) = &self.disk {
            let _ = Command::new("umount").arg("-l").arg(disk).output();
        }
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.file("ostler.log")).unwrap_or_default();
            eprintln!("supervisor's log of {}: {log}", self.home.display());
            eprintln!("left behind after stop: {left:#?}");
        } else {
            assert!(left.is_empty(), "left behind after stop: {left:#?}");
        }
    }
}

fn cgroup_mount() -> Option<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let line = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    line.split(' ').nth(4).map(PathBuf::from)
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(list) => list,
        other => panic!("a list was expected: {other}"),
    }
}
