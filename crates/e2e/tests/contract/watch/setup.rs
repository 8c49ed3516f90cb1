//! `ostler watch` in a folder of its own, and its log.

use crate::units::ready::free_port;
use ostler_e2e::{Background, Home, Process, eventually, helper};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// Ploinky's times, shortened.
pub const QUICK: &[&str] =
    &["--backoff", "20ms", "--backoff-most", "160ms", "--health-start-after", "500ms"];

pub struct Watched {
    pub home: Home,
    pub port: u16,
}

impl Watched {
    pub fn new() -> Self {
        Self { home: Home::new(), port: free_port() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.home.folder().join(name)
    }

    pub fn name(&self) -> String {
        format!("watch-{}", self.port)
    }

    pub fn command(&self, options: &[&str], server: &[&str]) -> Command {
        let arguments = [&["watch"], QUICK, options, &["--"], server].concat();
        let mut command = self.home.command(&arguments);
        command.current_dir(self.home.folder()).env("PORT", self.port.to_string());
        for name in ["DEBUG", "HEALTH_CHECK_ENABLED"] {
            command.env_remove(name);
        }
        command
    }

    pub fn watch(&self, options: &[&str], server: &[&str]) -> Background {
        self.home.spawn_program(self.command(options, server))
    }

    /// A script, without checks.
    pub fn script(&self, options: &[&str], script: &str) -> Background {
        self.watch(&[&["--no-health"], options].concat(), &["sh", "-c", script])
    }

    /// The helper that has a health endpoint, asked often.
    pub fn served(&self, options: &[&str]) -> Background {
        let often = &["--health-interval", "40ms", "--health-timeout", "5s"];
        self.watch(&[often, options].concat(), &[helper!("watched")])
    }

    pub fn mode(&self, mode: &str) {
        let path = self.path("mode.new");
        std::fs::write(&path, mode).expect("written");
        std::fs::rename(path, self.path("mode")).expect("renamed");
    }

    /// Every line of its log, each a JSON object.
    #[track_caller]
    pub fn log(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path("logs/watchdog.log")).unwrap_or_default();
        let line = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(line).collect()
    }

    #[track_caller]
    pub fn events(&self, event: &str) -> Vec<Value> {
        self.log().into_iter().filter(|line| line["event"] == event).collect()
    }

    /// Waits until this event was logged so often; returns the last one.
    #[track_caller]
    pub fn until(&self, event: &str, count: usize) -> Value {
        eventually(&format!("{count} times {event}"), || {
            let description = self.events(event);
            (description.len() >= count).then(|| description[count - 1].clone())
        })
    }

    /// The server of the n-th start.
    #[track_caller]
    pub fn server(&self, count: usize) -> Process {
        let pid = self.until("server_spawned", count)["pid"].as_i64().expect("a pid") as i32;
        Process::find(pid).unwrap_or_else(|| panic!("{pid} is gone"))
    }

    pub fn until_asked(&self, times: usize) -> Vec<u64> {
        eventually("the server was checked", || {
            let text = std::fs::read_to_string(self.path("asked")).unwrap_or_default();
            let times_ms: Vec<u64> = text.lines().filter_map(|line| line.parse().ok()).collect();
            (times_ms.len() >= times).then_some(times_ms)
        })
    }

    /// Checks that the unit is removed when its watch ends.
    #[track_caller]
    pub fn assert_no_unit(&self) {
        let units = self.home.ostler(&["ls", "--json"]).ok().json();
        assert_eq!(units, serde_json::json!([]));
        let left = std::fs::read_dir(self.home.file("watch")).expect("a folder").count();
        assert_eq!(left, 0, "a claim is left");
    }
}
