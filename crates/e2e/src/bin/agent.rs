//! `agent RECORD [LINE]`: a program that looks like an agent. It has an input box, and carries out a line that is
//! sent with Enter (or given at its start):
//!
//! - `ask TEXT`: it asks `Do you want to TEXT?`, with choices; each choice is kept as a line of JSON in RECORD
//! - `name`: it asks `Do you want to name it?`, and takes a line of text for an answer
//! - `work`: it is working and redraws until the next key
//! - `back TEXT`: the same; Escape puts the line back into the box, as claude does before it has answered
//! - `limit`: its usage limit is reached
//! - `still`: its screen does not show its state
//! - anything else: it prints the line and is idle
//!
//! A paste is taken as one text. It records each message as claude does, below `CLAUDE_CONFIG_DIR`, if that is set.

use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

const RULE: &str = "────────────────────────────────────────";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let mut modes = tcgetattr(std::io::stdin()).expect("a terminal");
    modes.make_raw();
    tcsetattr(std::io::stdin(), OptionalActions::Now, &modes).expect("raw mode");
    let (sender, bytes) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0u8; 4096];
        while let Ok(length @ 1..) = std::io::stdin().read(&mut buffer) {
            let _ = sender.send(buffer[..length].to_vec());
        }
    });
    let mut agent = Agent {
        record: PathBuf::from(&arguments[1]),
        scene: Scene::Idle,
        line: String::new(),
        said: "ready".to_owned(),
        ticks: 0,
    };
    if let Some(line) = arguments.get(2) {
        agent.receive(line);
    }
    {
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(b"\x1b[?2004h").and_then(|()| out.flush());
    }
    loop {
        agent.draw();
        let pause = if agent.scene == Scene::Works { 50 } else { 3_600_000 };
        match bytes.recv_timeout(Duration::from_millis(pause)) {
            Ok(read) => agent.take(&read),
            Err(RecvTimeoutError::Timeout) => agent.ticks += 1,
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

#[derive(PartialEq, Eq)]
enum Scene {
    Idle,
    Works,
    Limited,
    Still,
    /// A list of choices with one marked.
    Asks(String, usize),
    Names,
}

struct Agent {
    record: PathBuf,
    scene: Scene,
    line: String,
    said: String,
    ticks: usize,
}

impl Agent {
    fn receive(&mut self, line: &str) {
        self.said = line.to_owned();
        self.scene = match line.split_once(' ').unwrap_or((line, "")) {
            ("ask", text) => Scene::Asks(text.to_owned(), 0),
            ("name", _) => Scene::Names,
            ("work", _) => Scene::Works,
            ("back", _) => {
                report_session();
                Scene::Works
            }
            ("limit", _) => Scene::Limited,
            ("still", _) => Scene::Still,
            _ => Scene::Idle,
        };
    }

    fn take(&mut self, read: &[u8]) {
        let text = String::from_utf8_lossy(read).into_owned();
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            if let Some(pasted) = rest.strip_prefix("\x1b[200~") {
                let (inside, after) = pasted.split_once("\x1b[201~").unwrap_or((pasted, ""));
                if matches!(self.scene, Scene::Works) {
                    self.scene = Scene::Idle;
                }
                if matches!(self.scene, Scene::Idle | Scene::Still) {
                    self.line.push_str(inside);
                }
                rest = after;
                continue;
            }
            let key = ["\x1b[A", "\x1bOA", "\x1b[B", "\x1bOB"]
                .into_iter()
                .find(|arrow| rest.starts_with(arrow))
                .unwrap_or(&rest[..first.len_utf8()]);
            rest = &rest[key.len()..];
            self.key(key);
        }
    }

    fn key(&mut self, key: &str) {
        match &mut self.scene {
            Scene::Asks(_, marked) => match key {
                "\x1b[A" | "\x1bOA" => *marked = marked.saturating_sub(1),
                "\x1b[B" | "\x1bOB" => *marked = (*marked + 1).min(1),
                "1" | "2" => self.chose(key.parse().expect("a number")),
                "\r" => {
                    let marked = *marked + 1;
                    self.chose(marked);
                }
                "\x1b" => self.chose(0),
                _ => {}
            },
            Scene::Works if key == "\x1b" && self.said.starts_with("back") => {
                self.scene = Scene::Idle;
                self.line = self.said.trim_end().to_owned();
            }
            Scene::Works => {
                self.scene = Scene::Idle;
                self.key(key);
            }
            Scene::Idle | Scene::Limited | Scene::Still | Scene::Names => match key {
                "\r" => {
                    let line = std::mem::take(&mut self.line);
                    self.write_down(&line);
                    if self.scene == Scene::Names {
                        self.keep(&format!("named {line}"));
                    }
                    self.receive(&line);
                }
                "\x15" => self.line.clear(),
                key => self.line.push_str(key),
            },
        }
    }

    fn write_down(&self, line: &str) {
        let Some(folder) = std::env::var_os("CLAUDE_CONFIG_DIR").filter(|_| !line.is_empty())
        else {
            return;
        };
        let folder = PathBuf::from(folder).join("projects/here");
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("session-1.jsonl");
        let mut file = OpenOptions::new().create(true).append(true).open(path).expect("a file");
        let message = serde_json::json!({ "role": "user", "content": line.trim_end() });
        let line = serde_json::json!({ "type": "user", "message": message });
        file.write_all(format!("{line}\n").as_bytes()).expect("written");
    }

    fn chose(&mut self, number: usize) {
        self.keep(&format!("chose {number}"));
        self.scene = Scene::Idle;
        self.said = format!("you chose {number}");
    }

    fn keep(&self, message: &str) {
        let mut file =
            OpenOptions::new().create(true).append(true).open(&self.record).expect("a file");
        let line = format!("{}\n", serde_json::Value::from(message));
        file.write_all(line.as_bytes()).expect("written");
    }

    fn draw(&self) {
        let mut lines = vec![format!("● {}", self.said), String::new()];
        match &self.scene {
            Scene::Asks(text, marked) => {
                let mark = |number| if number == *marked { "❯" } else { " " };
                lines.push(RULE.to_owned());
                lines.push(format!(" Do you want to {text}?"));
                lines.push(format!(" {} 1. Yes", mark(0)));
                lines.push(format!(" {} 2. No", mark(1)));
                lines.push(String::new());
                lines.push(" Esc to cancel".to_owned());
            }
            Scene::Still => lines.push("~".to_owned()),
            Scene::Names => {
                lines.push(RULE.to_owned());
                lines.push(" Do you want to name it?".to_owned());
                lines.push(format!(" ❯ 1. {}", self.line));
                lines.push(" Esc to cancel".to_owned());
            }
            Scene::Idle | Scene::Works | Scene::Limited => {
                if self.scene == Scene::Works {
                    lines.push(format!("✻ Thinking… ({}s)", self.ticks));
                }
                if self.scene == Scene::Limited {
                    lines.push("You've hit your limit · resets 3:30am".to_owned());
                }
                lines.push(RULE.to_owned());
                lines.push(format!("❯ {}", self.line));
                lines.push(RULE.to_owned());
            }
        }
        let row = lines.iter().position(|line| line.starts_with('❯')).unwrap_or(0) + 1;
        let picture = lines.join("\r\n");
        let cursor = format!("\x1b[{row};{}H", 3 + self.line.chars().count());
        let mut out = std::io::stdout().lock();
        let picture = format!("\x1b[2J\x1b[H{picture}{cursor}");
        let _ = out.write_all(picture.as_bytes()).and_then(|()| out.flush());
    }
}

/// Writes the file in which claude names its process's session.
fn report_session() {
    let Some(folder) = std::env::var_os("CLAUDE_CONFIG_DIR") else { return };
    let folder = PathBuf::from(folder).join("sessions");
    std::fs::create_dir_all(&folder).expect("a folder");
    let stat = std::fs::read_to_string("/proc/self/stat").expect("its own process");
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    let started = fields.split_whitespace().nth(19).expect("a start time");
    let about = serde_json::json!({ "sessionId": "session-1", "procStart": started });
    let path = folder.join(format!("{}.json", std::process::id()));
    std::fs::write(path, about.to_string()).expect("written");
}
