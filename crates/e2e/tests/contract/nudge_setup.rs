//! A unit in a terminal that keeps what was said to it.

use crate::units::Project;
use ostler_e2e::{Output, eventually, helper};
use serde_json::Value;

/// What keeps the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Own,
    Tmux,
}

pub struct Town {
    pub project: Project,
}

impl Town {
    /// One unit, `agent`, with these words for the program in its terminal.
    pub fn new(kept: Kept, words: &[&str]) -> Self {
        let project = Project::new();
        let record = project.path("record");
        let mut command = vec![helper!("prompt").to_owned(), record];
        command.extend(words.iter().map(|word| word.replace("HERE", &project.path(""))));
        let backend = match kept {
            Kept::Own => "pty",
            Kept::Tmux => "tmux",
        };
        let body = format!("command = {command:?}\nbackend = {backend:?}");
        project.declare(&[("agent", &body)]);
        project.up();
        let town = Self { project };
        town.until_drawn();
        town
    }

    /// Its first picture is there.
    fn until_drawn(&self) {
        let run = self.project.view("agent")["runId"].as_str().expect("a run").to_owned();
        self.project.home.until_logged(&run, "\x1b[H");
    }

    pub fn nudge(&self, words: &[&str]) -> Output {
        self.project.call(&[&["nudge", "agent"], words].concat())
    }

    /// The receipt of a text that is given on standard input.
    pub fn say(&self, text: &str, words: &[&str]) -> Value {
        let arguments = [&["nudge", "agent", "-", "--json"], words].concat();
        self.project.home.ostler_with_input(&arguments, text.as_bytes()).json()
    }

    /// What was sent to the program, as it came.
    pub fn heard(&self) -> Vec<String> {
        let kept = std::fs::read_to_string(self.project.path("record")).unwrap_or_default();
        kept.lines().map(|line| serde_json::from_str(line).expect("a message")).collect()
    }

    pub fn until_heard(&self, message: &str) {
        eventually(&format!("{message:?} was heard"), || {
            self.heard().iter().any(|heard| heard == message).then_some(())
        });
    }

    pub fn listed(&self) -> Vec<Value> {
        let listed = self.project.call(&["nudge", "--list", "agent", "--json"]).ok().json();
        listed.as_array().expect("a list").clone()
    }
}
