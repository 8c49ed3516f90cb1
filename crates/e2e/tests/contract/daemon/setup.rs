//! Helpers for tests of the guardian: the pids of guardian and supervisor, and the files.

use ostler_e2e::{Home, Process, Signal, eventually, helper};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Shortens the restart delays of the supervisor (debug builds).
pub const QUICK: (&str, &str) = ("OSTLER_WAIT_MS", "50");

/// A home whose supervisor is restarted soon.
pub fn quick_home() -> Home {
    Home::with(&[QUICK])
}

/// Guardian and supervisor of a home, at present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Daemon {
    pub guardian: Process,
    pub supervisor: Process,
}

impl Daemon {
    #[track_caller]
    pub fn start(home: &Home) -> Self {
        home.ostler(&["start"]).ok();
        Self::of(home)
    }

    /// Waits until there is one of each, and no more.
    #[track_caller]
    pub fn of(home: &Home) -> Self {
        eventually("one guardian and one supervisor", || {
            match (&all(home, "guardian")[..], &all(home, "supervisor")[..]) {
                ([guardian], [supervisor]) => {
                    Some(Self { guardian: guardian.clone(), supervisor: supervisor.clone() })
                }
                _ => None,
            }
        })
    }
}

/// Every process of this home that was started with this verb.
pub fn all(home: &Home, verb: &str) -> Vec<Process> {
    let mut found = home.processes();
    found.retain(|process| {
        let words = process.arguments();
        words.first().is_some_and(|word| word.ends_with("ostler"))
            && words.get(1).is_some_and(|word| word == verb)
    });
    found
}

/// Kills the supervisor, and waits until the next one answers.
#[track_caller]
pub fn replace_supervisor(home: &Home) -> Process {
    let old = eventually("a supervisor", || home.supervisor());
    old.signal(Signal::KILL);
    old.wait_gone();
    answering(home, &old)
}

/// Waits for another supervisor that answers.
#[track_caller]
pub fn answering(home: &Home, old: &Process) -> Process {
    eventually("the next supervisor answers", || {
        let status = status(home);
        let pid = status["supervisorPid"].as_i64()? as i32;
        if status["version"].is_null() {
            return None;
        }
        Process::find(pid).filter(|process| process != old)
    })
}

pub fn status(home: &Home) -> Value {
    home.ostler(&["status", "--json"]).json()
}

/// `supervisor.json`, which is always whole.
#[track_caller]
pub fn state_file(home: &Home) -> Value {
    let text = std::fs::read_to_string(home.file("supervisor.json")).expect("supervisor.json");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
}

pub fn crash_log(home: &Home) -> Vec<u8> {
    std::fs::read(home.file("crash.log")).unwrap_or_default()
}

pub fn pid_in_file(home: &Home) -> Option<i32> {
    std::fs::read_to_string(home.file("ostler.pid")).ok()?.trim().parse().ok()
}

/// Installs a program. Another process writes it: a child that another test is just starting would
/// hold a file of ours open for writing, and what is written to cannot be executed.
#[track_caller]
pub fn install(program: impl AsRef<Path>, place: &Path) {
    let mut copy = Command::new("cp");
    let done = copy.arg("--").arg(program.as_ref()).arg(place).status().expect("cp");
    assert!(done.success(), "{}", place.display());
}

/// A run that writes numbered lines until the test ends it.
pub struct Counting {
    pub run: String,
    pub root: Process,
    gate: PathBuf,
}

impl Counting {
    /// Writes `batch` lines every `ms` milliseconds. It ends with this code, or `-N` for signal N.
    pub fn start(home: &Home, options: &[&str], batch: u32, pause_ms: u32, end: i32) -> Self {
        let number = std::fs::read_dir(home.folder()).map_or(0, Iterator::count);
        let folder = home.folder().join(format!("counting-{number}"));
        std::fs::create_dir(&folder).expect("a folder");
        let gate = folder.join("end");
        let command = [
            helper!("numbers"),
            gate.to_str().expect("a path"),
            &batch.to_string(),
            &pause_ms.to_string(),
            &end.to_string(),
        ];
        let run = home.start(options, &command);
        let root = home.root(&run);
        Self { run, root, gate }
    }

    pub fn end(&self) {
        std::fs::write(&self.gate, "").expect("written");
    }

    /// Every line once and in order, and the last one.
    #[track_caller]
    pub fn assert_whole(&self, home: &Home) -> usize {
        let log = home.ostler(&["logs", &self.run]).ok();
        assert_eq!(log.stderr, "", "no gap is reported");
        let text = log.text();
        let lines: Vec<&str> = text.lines().map(|line| line.trim_end_matches('\r')).collect();
        let (last, numbered) = lines.split_last().expect("lines");
        for (number, line) in numbered.iter().enumerate() {
            let around = &numbered[number.saturating_sub(2)..numbered.len().min(number + 3)];
            assert_eq!(*line, format!("line {number}"), "{}: among {around:?}", self.run);
        }
        assert_eq!(*last, format!("end {}", numbered.len()), "{}", self.run);
        numbered.len()
    }
}
