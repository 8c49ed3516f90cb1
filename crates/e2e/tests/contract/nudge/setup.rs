//! A unit in a terminal that records its messages.

use crate::nudge::tmux::in_town;
use crate::units::setup::Project;
use ostler_e2e::{Output, eventually, helper};
use serde_json::Value;

/// The owner of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Own,
    Tmux,
}

pub struct Town {
    pub project: Project,
}

impl Town {
    /// One unit, `agent`, with these arguments for the program in its terminal.
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

    /// Waits until its first screen is drawn.
    fn until_drawn(&self) {
        let run = self.project.view("agent")["runId"].as_str().expect("a run").to_owned();
        self.project.home.until_logged(&run, "\x1b[H");
    }

    pub fn nudge(&self, words: &[&str]) -> Output {
        self.project.call(&[&["nudge", "agent"], words].concat())
    }

    /// Sends a text through standard input; returns its receipt.
    pub fn say(&self, text: &str, words: &[&str]) -> Value {
        let arguments = [&["nudge", "agent", "-", "--json"], words].concat();
        self.project.home.ostler_with_input(&arguments, text.as_bytes()).json()
    }

    /// The messages that the program received.
    pub fn received(&self) -> Vec<String> {
        let kept = std::fs::read_to_string(self.project.path("record")).unwrap_or_default();
        kept.lines().map(|line| serde_json::from_str(line).expect("a message")).collect()
    }

    pub fn until_received(&self, message: &str) {
        eventually(&format!("{message:?} was received"), || {
            self.received().iter().any(|received| received == message).then_some(())
        });
    }

    /// As a person types it.
    pub fn type_by_hand(&self, keys: &str) {
        let view = self.project.view("agent");
        match view["tmux"].as_object() {
            None => {
                let run = view["runId"].as_str().expect("a run");
                self.project.home.ostler_with_input(&["write", run], keys.as_bytes()).ok();
            }
            Some(_) => {
                let bytes: Vec<String> = keys.bytes().map(|byte| format!("{byte:x}")).collect();
                let bytes: Vec<&str> = bytes.iter().map(String::as_str).collect();
                in_town(self, "send-keys", &[&["-H"], &bytes[..]].concat()).ok();
            }
        }
    }

    pub fn listed(&self) -> Vec<Value> {
        let listed = self.project.call(&["nudge", "--list", "agent", "--json"]).ok().json();
        listed.as_array().expect("a list").clone()
    }
}

/// One behaviour on Ostler's terminal and in tmux.
macro_rules! in_every_terminal {
    ($(#[$doc:meta])* $behaviour:ident: $own:ident $tmux:ident) => {
        $(#[$doc])*
        #[test]
        fn $own() {
            $behaviour(Kept::Own);
        }

        $(#[$doc])*
        #[test]
        fn $tmux() {
            ostler_e2e::needs!("tmux");
            $behaviour(Kept::Tmux);
        }
    };
}
pub(crate) use in_every_terminal;
