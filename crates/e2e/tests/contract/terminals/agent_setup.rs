//! Helpers for tests of agents: a program that looks like an agent, on Ostler's terminal or in tmux.

use crate::tmux::setup::Tmux;
use ostler_e2e::{Output, eventually, helper};
use serde_json::Value;
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Pty,
    Tmux,
}

/// The unit `a` is an agent.
pub struct Agent {
    pub tmux: Tmux,
    pub on: On,
}

impl Agent {
    /// It starts with this line as if it had been sent.
    pub fn with(on: On, line: &str, more: &str) -> Self {
        let tmux = Tmux::new();
        let folder = tmux.project.folder();
        // It is recognised by its name.
        std::os::unix::fs::symlink(helper!("agent"), folder.join("claude")).expect("a link");
        let agent = Self { tmux, on };
        agent.declare(&["./claude", &agent.record().display().to_string(), line], more);
        agent
    }

    pub fn of(on: On, line: &str) -> Self {
        let agent = Self::with(on, line, "");
        agent.tmux.project.up();
        agent
    }

    /// A program that is no agent.
    pub fn running(on: On, command: &[&str]) -> Self {
        let agent = Self { tmux: Tmux::new(), on };
        agent.declare(command, "");
        agent.tmux.project.up();
        agent
    }

    #[track_caller]
    pub fn until_shown(&self, text: &str) {
        eventually(&format!("{text:?} is on its screen"), || {
            self.call(&["screen", "a"]).text().contains(text).then_some(())
        });
    }

    pub fn declare(&self, command: &[&str], more: &str) {
        let backend = match self.on {
            On::Pty => "pty",
            On::Tmux => "tmux",
        };
        let body = format!("command = {command:?}\nbackend = \"{backend}\"\n{more}");
        self.tmux.project.declare(&[("a", &body)]);
    }

    /// Appends this to the file.
    pub fn declare_also(&self, text: &str) {
        let file = self.tmux.project.file();
        let before = std::fs::read_to_string(&file).expect("a file");
        std::fs::write(file, format!("{before}\n{text}\n")).expect("written");
    }

    fn record(&self) -> PathBuf {
        self.tmux.project.folder().join("record")
    }

    /// The answers that it got.
    pub fn answers(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.record()).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a text")).collect()
    }

    pub fn call(&self, arguments: &[&str]) -> Output {
        self.tmux.project.call(arguments)
    }

    /// As a person types it there.
    pub fn type_in(&self, text: &str) {
        match self.on {
            On::Pty => {
                let run = self.view()["runId"].as_str().expect("a run").to_owned();
                self.call(&["write", &run, "--text", text]).ok();
            }
            On::Tmux => {
                for part in text.split_inclusive('\r') {
                    let line = part.trim_end_matches('\r');
                    self.tmux.private(&["send-keys", "-t", "=ostler-a:", "-l", line]).ok();
                    if part.ends_with('\r') {
                        self.tmux.private(&["send-keys", "-t", "=ostler-a:", "Enter"]).ok();
                    }
                }
            }
        }
    }

    #[track_caller]
    pub fn view(&self) -> Value {
        self.tmux.project.view("a")
    }

    /// Waits until the agent is in this state; returns its view.
    #[track_caller]
    pub fn until(&self, state: &str) -> Value {
        let is_so = |view: &Value| view["agent"]["state"] == state;
        self.tmux.project.until("a", state, is_so)["agent"].clone()
    }

    #[track_caller]
    pub fn until_asked(&self, question: &str) -> Value {
        let is_so = |view: &Value| {
            let asked = view["agent"]["question"].as_str().unwrap_or_default();
            view["agent"]["state"] == "waiting" && asked.contains(question)
        };
        self.tmux.project.until("a", question, is_so)["agent"].clone()
    }

    /// The unit's line in `ls`.
    #[track_caller]
    pub fn row(&self) -> String {
        let listed = self.call(&["ls"]).ok().text();
        let row = listed.lines().find(|line| line.starts_with("a "));
        row.unwrap_or_else(|| panic!("no row of it in {listed}")).to_owned()
    }

    /// How often this is in its journal.
    #[track_caller]
    pub fn description(&self, what: &str) -> usize {
        let why = self.call(&["why", "a", "--json"]).ok().json();
        let events = why["events"].as_array().expect("a list");
        events.iter().filter(|event| event["what"] == what).count()
    }

    #[track_caller]
    pub fn until_reported(&self, what: &str, count: usize) {
        eventually(&format!("{count} reports of {what}"), || {
            (self.description(what) == count).then_some(())
        });
    }
}

/// One behaviour, on Ostler's terminal and in tmux.
macro_rules! on_both_terminals {
    ($(#[$doc:meta])* $behaviour:ident: $pty:ident $tmux:ident) => {
        $(#[$doc])*
        #[test]
        fn $pty() {
            $behaviour($crate::terminals::agent_setup::On::Pty);
        }

        $(#[$doc])*
        #[test]
        fn $tmux() {
            ostler_e2e::needs!("tmux");
            $behaviour($crate::terminals::agent_setup::On::Tmux);
        }
    };
}

pub(crate) use on_both_terminals;
