//! Helpers for tests of units: a folder with a file, each unit's state, and the kernel's processes.

use ostler_e2e::{Background, Home, Output, Process, Signal, eventually};
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;

/// Restarts at once, without a limit.
pub const AT_ONCE: &str = "restart = { initial = \"0\", limit = { count = 0, window = \"1s\" } }";
/// Restarts soon; the breaker opens at the third failure.
pub const SOON: &str =
    "restart = { initial = \"50ms\", max = \"50ms\", limit = { count = 3, window = \"10s\" } }";

/// A home, and a folder with `ostler.toml` beside it.
pub struct Project {
    pub home: Home,
}

impl Project {
    pub fn new() -> Self {
        Self::with(&[crate::daemon::setup::QUICK])
    }

    /// With a file.
    pub fn of(units: &[(&str, &str)]) -> Self {
        let project = Self::new();
        project.declare(units);
        project
    }

    pub fn with(variables: &[(&str, &str)]) -> Self {
        let home = Home::with(variables);
        std::fs::create_dir(home.folder().join("p")).expect("a folder");
        Self { home }
    }

    pub fn folder(&self) -> PathBuf {
        self.home.folder().join("p")
    }

    pub fn path(&self, name: &str) -> String {
        self.folder().join(name).to_str().expect("text").to_owned()
    }

    pub fn file(&self) -> PathBuf {
        self.folder().join("ostler.toml")
    }

    /// Writes the file. Each unit has the home's marker and its own name in its environment, to find it among the kernel's processes.
    pub fn declare(&self, units: &[(&str, &str)]) {
        let (name, value) = self.home.variable().split_once('=').map(own).expect("a variable");
        let mut text = String::new();
        for (unit, body) in units {
            text += &format!(
                "[units.{unit}]\nenv.{name} = \"{value}\"\nenv.E2E_UNIT = \"{unit}\"\n{body}\n\n"
            );
        }
        std::fs::write(self.file(), text).expect("written");
    }

    /// Runs the executable in the project's folder.
    pub fn call(&self, arguments: &[&str]) -> Output {
        self.spawn(arguments).finish()
    }

    pub fn spawn(&self, arguments: &[&str]) -> Background {
        let mut command = self.home.command(arguments);
        command.current_dir(self.folder());
        self.home.spawn_program(command)
    }

    #[track_caller]
    pub fn up(&self) -> Output {
        self.call(&["up"]).ok()
    }

    #[track_caller]
    pub fn views(&self) -> Vec<Value> {
        let listed = self.call(&["ls", "--all", "--json"]).ok().json();
        listed.as_array().expect("a list").clone()
    }

    #[track_caller]
    pub fn find(&self, unit: &str) -> Option<Value> {
        self.views().into_iter().find(|view| view["unit"] == unit)
    }

    #[track_caller]
    pub fn view(&self, unit: &str) -> Value {
        self.find(unit).unwrap_or_else(|| panic!("no unit {unit}"))
    }

    #[track_caller]
    pub fn state(&self, unit: &str) -> String {
        self.view(unit)["state"].as_str().expect("a word").to_owned()
    }

    #[track_caller]
    pub fn until(&self, unit: &str, what: &str, test: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually(what, || {
                last = self.find(unit).unwrap_or_default();
                test(&last).then(|| last.clone())
            })
        }));
        found.unwrap_or_else(|_| panic!("{unit} was never {what}: {last:#}"))
    }

    #[track_caller]
    pub fn until_state(&self, unit: &str, state: &str) -> Value {
        self.until(unit, state, |view| view["state"] == state)
    }

    /// Its first process, which is alive.
    #[track_caller]
    pub fn process(&self, unit: &str) -> Process {
        let view = self.view(unit);
        let pid = view["pid"].as_i64().unwrap_or_else(|| panic!("no pid: {view:#}")) as i32;
        Process::find(pid).unwrap_or_else(|| panic!("no process {pid}: {view:#}"))
    }

    /// Waits for a first process that is not this one.
    #[track_caller]
    pub fn next_process(&self, unit: &str, old: &Process) -> Process {
        let view = self.until(unit, "the unit runs again", |view| {
            view["state"] == "ready"
                && view["pid"].as_i64().is_some_and(|pid| pid != i64::from(old.pid))
        });
        Process::find(view["pid"].as_i64().expect("a pid") as i32).expect("the unit is running")
    }

    /// Kills the unit's process from outside, and waits for its end.
    #[track_caller]
    pub fn crash(&self, unit: &str) -> Process {
        let process = self.process(unit);
        process.signal(Signal::KILL);
        process.wait_gone();
        process
    }

    /// One live process of each copy of each unit, by unit.
    pub fn copies(&self) -> HashMap<String, Vec<Process>> {
        copies(&self.home)
    }

    #[track_caller]
    pub fn copies_of(&self, unit: &str) -> usize {
        self.copies().get(unit).map_or(0, Vec::len)
    }

    /// How many lines this file of the project's folder has.
    pub fn lines(&self, name: &str) -> usize {
        std::fs::read_to_string(self.path(name)).unwrap_or_default().lines().count()
    }

    #[track_caller]
    pub fn until_lines(&self, name: &str, least: usize) -> usize {
        eventually(&format!("{least} lines in {name}"), || {
            Some(self.lines(name)).filter(|lines| *lines >= least)
        })
    }
}

fn own((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn copies(home: &Home) -> HashMap<String, Vec<Process>> {
    let mut found: HashMap<String, HashMap<String, Process>> = HashMap::new();
    for process in home.processes() {
        if let (Some(unit), Some(run)) =
            (process.variable("E2E_UNIT"), process.variable("OSTLER_RUN_ID"))
        {
            found.entry(unit).or_default().entry(run).or_insert(process);
        }
    }
    found.into_iter().map(|(unit, runs)| (unit, runs.into_values().collect())).collect()
}

/// Fails if two copies of a unit live at the same moment. The kernel lists one process after the other, so
/// those found first must still exist at the end.
#[track_caller]
pub fn assert_single(home: &Home) {
    for (unit, mut copies) in copies(home) {
        copies.retain(Process::is_alive);
        assert!(copies.len() < 2, "two copies of {unit}: {copies:?}");
    }
}
