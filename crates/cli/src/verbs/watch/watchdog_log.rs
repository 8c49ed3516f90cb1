//! Writes `watchdog.log`, one JSON object per line, and a shorter line to standard error. Neither blocks the watch: a
//! full disk, a closed pipe or a closed terminal only loses lines.

use crate::exit::Failure;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::time::Duration;

/// The size at which the log is rotated.
const LOG_MOST: u64 = 8 << 20;
/// How many lines are buffered for a slow reader of standard error.
const BEHIND_MOST: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        }
    }
}

/// One event of the log.
#[derive(Clone, Debug)]
pub struct LogEvent {
    pub at_ms: u64,
    pub level: Level,
    pub event: &'static str,
    /// The server's pid.
    pub pid: Option<i32>,
    pub more: Map<String, Value>,
}

pub struct WatchdogLog {
    path: PathBuf,
    /// `None` in test mode.
    file: Option<File>,
    length: u64,
    console: SyncSender<String>,
    shown: Receiver<()>,
    is_debug: bool,
}

impl WatchdogLog {
    pub fn open(path: &Path, is_debug: bool) -> Result<Self, Failure> {
        let file = begin(path).map_err(|error| {
            let path = path.display();
            Failure::usage(format!("cannot write {path}: {error}; choose another file with --log"))
        })?;
        let length = file.metadata().map_or(0, |data| data.len());
        let (console, lines) = sync_channel::<String>(BEHIND_MOST);
        let (is_shown, shown) = channel();
        std::thread::spawn(move || {
            for line in lines {
                let _ = std::io::stderr().lock().write_all(line.as_bytes());
            }
            let _ = is_shown.send(());
        });
        Ok(Self { path: path.to_owned(), file: Some(file), length, console, shown, is_debug })
    }

    /// A log that writes nothing, for test mode.
    pub fn silent(path: &Path) -> Self {
        let (console, _) = sync_channel(0);
        let (_, shown) = channel();
        Self { path: path.to_owned(), file: None, length: 0, console, shown, is_debug: false }
    }

    pub fn notify(&mut self, line: &LogEvent) {
        if self.file.is_none() {
            return;
        }
        let mut text = written(line);
        text.push('\n');
        self.rotate(text.len() as u64);
        let file = self.file.as_mut();
        if file.is_some_and(|file| file.write_all(text.as_bytes()).is_ok()) {
            self.length += text.len() as u64;
        }
        if line.level != Level::Debug || self.is_debug {
            let _ = self.console.try_send(shown(line));
        }
    }

    /// Prints the remaining lines, if they are read within this time.
    pub fn finish(self, patience: Duration) {
        drop(self.console);
        let _ = self.shown.recv_timeout(patience);
    }

    fn rotate(&mut self, more: u64) {
        if self.length == 0 || self.length + more <= LOG_MOST {
            return;
        }
        let mut old = self.path.clone().into_os_string();
        old.push(".1");
        if std::fs::rename(&self.path, &old).is_ok()
            && let Ok(file) = begin(&self.path)
        {
            self.file = Some(file);
        }
        self.length = 0;
    }
}

fn begin(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    File::options().append(true).create(true).open(path)
}

fn time(at_ms: u64) -> String {
    let stamp = Timestamp::from_millisecond(i64::try_from(at_ms).unwrap_or_default());
    stamp.map(|stamp| format!("{stamp:.3}")).unwrap_or_default()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogLine<'a> {
    ts: String,
    level: &'static str,
    event: &'static str,
    pid: Option<i32>,
    manager_pid: u32,
    #[serde(flatten)]
    more: &'a Map<String, Value>,
}

fn written(line: &LogEvent) -> String {
    let written = LogLine {
        ts: time(line.at_ms),
        level: line.level.name(),
        event: line.event,
        pid: line.pid,
        manager_pid: std::process::id(),
        more: &line.more,
    };
    serde_json::to_string(&written).unwrap_or_default()
}

fn shown(line: &LogEvent) -> String {
    let mut shown = format!("[watchdog] {} {}", line.level.name(), line.event);
    if let Some(pid) = line.pid {
        shown += &format!(" pid={pid}");
    }
    for (name, value) in line.more.iter().filter(|(_, value)| !value.is_null()) {
        shown += &format!(" {name}={value}");
    }
    shown.push('\n');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_has_the_documents_fields() {
        let more = Map::from_iter([("exitCode".to_owned(), json!(3))]);
        let at_ms = 1_700_000_000_123;
        let line = LogEvent { at_ms, level: Level::Warn, event: "process_exited", pid: None, more };
        let read: Value = serde_json::from_str(&written(&line)).expect("JSON");
        assert_eq!(read["ts"], "2023-11-14T22:13:20.123Z");
        assert_eq!((&read["level"], &read["pid"]), (&json!("warn"), &Value::Null));
        assert_eq!(read["managerPid"], std::process::id());
        assert_eq!(shown(&line), "[watchdog] warn process_exited exitCode=3\n");
    }

    #[test]
    fn a_long_log_is_begun_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("logs/watchdog.log");
        let mut log = WatchdogLog::open(&path, false).expect("opened");
        log.length = LOG_MOST;
        let more = Map::new();
        log.notify(&LogEvent {
            at_ms: 1,
            level: Level::Debug,
            event: "clean_exit",
            pid: None,
            more,
        });
        assert!(folder.path().join("logs/watchdog.log.1").exists());
        assert_eq!(std::fs::read_to_string(&path).expect("read").lines().count(), 1);
    }
}
