//! Helpers for tests of sessions: a project with tmux servers of its own, and a view of them from outside.

use crate::units::setup::Project;
use ostler_e2e::{Output, Process, eventually};
use std::path::PathBuf;
use std::process::Command;

/// The daemon's own server, as a unit.
pub const SERVER: &str = "ostler:tmux";

pub struct Tmux {
    pub project: Project,
}

/// It exits at TERM, and prints its TERM variable.
pub const IDLE: &str =
    "trap 'echo bye; exit 0' TERM; echo hello $TERM; while :; do sleep 0.05; done";
pub const AGAIN: &str = "restart = { initial = \"50ms\", max = \"50ms\" }";

/// A unit in tmux that runs a script.
pub fn unit(script: &str, more: &str) -> String {
    let script = script.replace('\\', "\\\\").replace('"', "\\\"");
    format!("command = [\"sh\", \"-c\", \"{script}\"]\nbackend = \"tmux\"\n{more}")
}

impl Tmux {
    pub fn new() -> Self {
        Self::with(&[])
    }

    pub fn with(variables: &[(&str, &str)]) -> Self {
        let mut project = Project::with(&[&[crate::daemon::setup::QUICK], variables].concat());
        // Neither the configuration nor the server of the user who runs the tests.
        let folder = project.home.folder().to_str().expect("text").to_owned();
        project.home.set("HOME", &folder);
        project.home.set("TMUX_TMPDIR", &folder);
        project.home.set("TMUX", "");
        Self { project }
    }

    pub fn of(units: &[(&str, &str)]) -> Self {
        let tmux = Self::new();
        tmux.project.declare(units);
        tmux
    }

    pub fn private_socket(&self) -> PathBuf {
        self.project.home.file("tmux.sock")
    }

    fn ask(&self, which: &[&str], words: &[&str]) -> Output {
        let mut command = self.project.home.program("tmux");
        command.args(which).args(words);
        self.project.home.spawn_program(command).finish()
    }

    /// Calls tmux on the daemon's own server.
    pub fn private(&self, words: &[&str]) -> Output {
        self.ask(&["-S", self.private_socket().to_str().expect("text")], words)
    }

    /// Calls tmux on the user's server, in a folder of the test.
    pub fn own(&self, words: &[&str]) -> Output {
        self.ask(&[], words)
    }

    pub fn sessions(&self) -> Vec<String> {
        names(&self.private(&["list-sessions", "-F", "#{session_name}"]).text())
    }

    pub fn own_sessions(&self) -> Vec<String> {
        names(&self.own(&["list-sessions", "-F", "#{session_name}"]).text())
    }

    /// The first process of a session of the user's own.
    #[track_caller]
    pub fn own_session(&self, name: &str) -> Process {
        self.own(&["new-session", "-d", "-s", name, "--", "sleep", "100000"]).ok();
        let text = self.own(&["list-panes", "-t", &format!("={name}"), "-F", "#{pane_pid}"]).text();
        Process::find(text.trim().parse().expect("a pid"))
            .expect("the session's process is running")
    }

    /// The session of a pane now.
    #[track_caller]
    pub fn session_of(&self, process: &Process) -> String {
        let format = "#{pane_pid} #{session_id}";
        let text = self.private(&["list-panes", "-a", "-F", format]).ok().text();
        // The pane's own process is the program's parent.
        let pid = format!("{} ", parent(process));
        let line = text.lines().find(|line| line.starts_with(&pid));
        line.unwrap_or_else(|| panic!("no pane of {process:?} in {text}")).to_owned()
    }

    /// Waits until this is in its log.
    #[track_caller]
    pub fn until_logged(&self, unit: &str, text: &str) -> String {
        eventually(&format!("{text:?} in the log of {unit}"), || {
            let log = self.project.call(&["logs", unit]).text();
            log.contains(text).then_some(log)
        })
    }

    /// The shim of a unit's run.
    #[track_caller]
    pub fn shim(&self, unit: &str) -> Process {
        let run = self.project.view(unit)["runId"].as_str().expect("a run").to_owned();
        self.project.home.root(&run)
    }

    /// Waits until no process of the unit is alive.
    #[track_caller]
    pub fn until_extinct(&self, unit: &str) {
        let left = || {
            let all = self.project.home.processes();
            all.into_iter().find(|process| process.variable("E2E_UNIT").as_deref() == Some(unit))
        };
        eventually("all processes have ended", || left().is_none().then_some(()));
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let mut command: Command = self.project.home.program("tmux");
        let _ = command.arg("kill-server").output();
    }
}

pub fn parent(process: &Process) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.pid)).unwrap_or_default();
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    rest.split_ascii_whitespace().nth(1).and_then(|pid| pid.parse().ok()).unwrap_or(0)
}

fn names(text: &str) -> Vec<String> {
    let mut names: Vec<String> = text.lines().map(str::to_owned).collect();
    names.sort();
    names
}
