//! Helpers for tests of apps: apps that the test controls, and the daemon's view and journal of each.

use crate::units::setup::Project;
use ostler_e2e::{PATIENCE, Process, Wire, eventually, helper};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A very short heartbeat timeout.
pub const SHORT: &str = "heartbeat = { interval = \"100ms\", timeout = \"300ms\", misses = 3 }";
/// Frequent heartbeats, and a timeout long enough for a machine that is busy with other tests.
pub const LONG: &str = "heartbeat = { interval = \"100ms\", timeout = \"10s\", misses = 100 }";
/// Restarts soon, without a limit.
pub const SOON: &str =
    "restart = { initial = \"10ms\", max = \"10ms\", limit = { count = 0, window = \"1s\" } }";
/// A short grace period.
pub const QUICK_END: &str = "stop = { grace = \"300ms\" }";

/// The language of an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No SDK: the test controls every byte on the socket.
    Raw,
    Python,
    Node,
    /// Orders are a few words: see the helper program.
    Rust,
}

impl Kind {
    fn main(self) -> &'static str {
        match self {
            Self::Raw | Self::Python => "main.py",
            Self::Node => "main.mjs",
            Self::Rust => "main",
        }
    }

    fn put(self, main: &Path) {
        let text = match self {
            Self::Raw => include_str!("puppet.py"),
            Self::Python => include_str!("sdk_app.py"),
            Self::Node => include_str!("sdk_app.mjs"),
            Self::Rust => return symlink(helper!("rust_app"), main).expect("a link"),
        };
        fs::write(main, text).expect("written");
    }

    fn sdk(self) -> Option<PathBuf> {
        match self {
            Self::Raw | Self::Rust => None,
            Self::Python => Some(repository().join("sdk/python/src")),
            Self::Node => Some(node_sdk().to_owned()),
        }
    }
}

pub struct Apps {
    pub project: Project,
    bodies: RefCell<Vec<(String, String)>>,
    strings: RefCell<HashMap<String, UnixListener>>,
}

impl Apps {
    pub fn new() -> Self {
        let project = Project::new();
        Self { project, bodies: RefCell::default(), strings: RefCell::default() }
    }

    /// One app that is not started yet.
    pub fn of(name: &str, kind: Kind, body: &str) -> Self {
        let apps = Self::new();
        apps.add(name, kind, body);
        apps
    }

    pub fn folder(&self, name: &str) -> PathBuf {
        self.project.folder().join(name)
    }

    /// `body` are keys of the unit.
    pub fn add(&self, name: &str, kind: Kind, body: &str) {
        self.add_with(name, kind, body, json!({}));
    }

    /// These are fields of its manifest.
    pub fn add_with(&self, name: &str, kind: Kind, body: &str, fields: Value) {
        let folder = self.folder(name);
        fs::create_dir(&folder).expect("a folder");
        let main = kind.main();
        kind.put(&folder.join(main));
        if let Some(sdk) = kind.sdk() {
            fs::write(folder.join("sdk"), sdk.to_str().expect("text")).expect("written");
        }
        let mut manifest = json!({
            "id": id(name),
            "type": "app",
            "main": main,
            "protocol": { "version": "1.0" },
        });
        let more = fields.as_object().expect("fields").clone();
        manifest.as_object_mut().expect("fields").extend(more);
        fs::write(folder.join("openclawos.manifest.json"), manifest.to_string()).expect("written");
        let listener = UnixListener::bind(folder.join("strings")).expect("a socket");
        listener.set_nonblocking(true).expect("a socket");
        self.strings.borrow_mut().insert(name.to_owned(), listener);
        self.declare(name, body);
    }

    /// Changes the declaration of a unit, or adds one.
    pub fn declare(&self, name: &str, body: &str) {
        let mut bodies = self.bodies.borrow_mut();
        bodies.retain(|(known, _)| known != name);
        bodies.push((name.to_owned(), format!("manifest = \"{name}\"\n{body}")));
    }

    pub fn write(&self) {
        let bodies = self.bodies.borrow();
        let units: Vec<_> = bodies.iter().map(|(name, body)| (&**name, &**body)).collect();
        self.project.declare(&units);
    }

    /// Declares all units with `up --no-wait`.
    #[track_caller]
    pub fn up(&self) {
        self.write();
        self.project.call(&["up", "--no-wait"]).ok();
    }

    /// The next process of this app that asks for orders.
    #[track_caller]
    pub fn puppet(&self, name: &str) -> Puppet {
        let stream = eventually(&format!("{name} is started"), || self.new_puppet(name));
        stream.set_nonblocking(false).expect("a socket");
        stream.set_read_timeout(Some(PATIENCE * 2)).expect("a socket");
        Puppet { strings: BufReader::new(stream) }
    }

    /// Whether another process of this app asks for orders.
    pub fn has_new_puppet(&self, name: &str) -> bool {
        self.new_puppet(name).is_some()
    }

    fn new_puppet(&self, name: &str) -> Option<UnixStream> {
        match self.strings.borrow()[name].accept() {
            Ok((stream, _)) => Some(stream),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// A raw app that is ready, with its connection in `w`.
    #[track_caller]
    pub fn ready_puppet(&self, name: &str) -> Puppet {
        let mut puppet = self.puppet(name);
        puppet.run("w = become_ready()");
        self.until_phase(name, "ready");
        puppet
    }

    pub fn operator(&self) -> Wire {
        Wire::connect(&self.project.home)
    }

    #[track_caller]
    pub fn info(&self, name: &str) -> Value {
        self.operator().ask("apps.info", json!({ "packageId": id(name) }))
    }

    #[track_caller]
    pub fn until(&self, name: &str, what: &str, test: impl Fn(&Value) -> bool) -> Value {
        let mut operator = self.operator();
        let mut last = Value::Null;
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually(what, || {
                last = operator.ask("apps.info", json!({ "packageId": id(name) }));
                test(&last).then(|| last.clone())
            })
        }));
        found.unwrap_or_else(|_| {
            let why = self.why(name);
            panic!("{name} was never {what}: {last:#}\n{why}")
        })
    }

    #[track_caller]
    pub fn until_phase(&self, name: &str, phase: &str) -> Value {
        self.until(name, phase, |info| info["state"] == phase)
    }

    #[track_caller]
    pub fn process(&self, name: &str) -> Process {
        self.project.process(name)
    }

    #[track_caller]
    pub fn why(&self, name: &str) -> String {
        self.project.call(&["why", name]).ok().text()
    }

    /// Waits until `ostler why` prints this.
    #[track_caller]
    pub fn until_why(&self, name: &str, text: &str) -> String {
        let mut last = String::new();
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually(text, || {
                last = self.why(name);
                last.contains(text).then(|| last.clone())
            })
        }));
        found.unwrap_or_else(|_| panic!("why {name} never printed {text:?}: {last}"))
    }
}

pub fn id(name: &str) -> String {
    format!("@e2e/{name}")
}

/// A process that the test controls, in the app's language.
pub struct Puppet {
    strings: BufReader<UnixStream>,
}

impl Puppet {
    #[track_caller]
    pub fn run(&mut self, code: &str) {
        self.notify("run", code);
        self.description(code);
    }

    #[track_caller]
    pub fn eval(&mut self, code: &str) -> Value {
        self.notify("eval", code);
        self.description(code)
    }

    /// Starts the code, and does not wait for its end.
    #[track_caller]
    pub fn begin(&mut self, code: &str) {
        self.notify("run", code);
    }

    fn notify(&mut self, how: &str, code: &str) {
        let order = json!({ how: code });
        let sent = self.strings.get_mut().write_all(format!("{order}\n").as_bytes());
        sent.unwrap_or_else(|error| panic!("{code}: the process is gone ({error})"));
    }

    #[track_caller]
    fn description(&mut self, code: &str) -> Value {
        let mut line = String::new();
        let read = self.strings.read_line(&mut line);
        let length = read.unwrap_or_else(|error| panic!("{code}: no answer ({error})"));
        assert!(length > 0, "{code}: the process is gone");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        if let Some(failed) = answer["failed"].as_str() {
            panic!("{code}: {failed}");
        }
        answer["is"].clone()
    }

    /// Waits until its process is gone.
    #[track_caller]
    pub fn until_gone(&mut self) {
        let mut line = String::new();
        let read = self.strings.read_line(&mut line);
        let is_gone = matches!(&read, Ok(0))
            || matches!(&read, Err(error) if error.kind() == ErrorKind::ConnectionReset);
        assert!(is_gone, "the process is still running: {read:?} {line:?}");
    }
}

/// An app that must not be affected by what happens beside it.
pub struct Neighbour {
    puppet: Puppet,
    process: Process,
}

impl Neighbour {
    pub const NAME: &str = "neighbour";

    pub fn add(apps: &Apps) {
        apps.add(Self::NAME, Kind::Raw, &format!("{LONG}\n{QUICK_END}"));
    }

    /// Waits until it is ready and sends heartbeats.
    #[track_caller]
    pub fn begin(apps: &Apps) -> Self {
        let mut puppet = apps.ready_puppet(Self::NAME);
        puppet.run("heart = Heart(w.token)");
        Self { puppet, process: apps.process(Self::NAME) }
    }

    /// Waits for more heartbeats, and then checks that it was not affected.
    #[track_caller]
    pub fn saw_no_heartbeat(&mut self, apps: &Apps) {
        let before = self.beats();
        eventually("the neighbour sends heartbeats", || (self.beats() >= before + 5).then_some(()));
        // A short delay is normal while every core is busy with other tests.
        let worst = self.puppet.eval("heart.worst").as_f64().expect("seconds");
        assert!(worst < 2.0, "an answer took {worst} s");
        assert_eq!(self.puppet.eval("heart.failed"), Value::Null);
        let info = apps.info(Self::NAME);
        assert_eq!(info["state"], "ready", "{info:#}");
        assert_eq!(info["pid"], self.process.pid, "{info:#}");
        assert_eq!(info["restartCount"], 0, "{info:#}");
        let why = apps.why(Self::NAME);
        assert!(
            !why.contains("no heartbeat") && !why.contains("broke the socket protocol"),
            "{why}"
        );
    }

    pub fn token(&mut self) -> String {
        self.puppet.eval("w.token").as_str().expect("a token").to_owned()
    }

    fn beats(&mut self) -> u64 {
        self.puppet.eval("heart.beats").as_u64().expect("a number")
    }
}

pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/e2e is in it")
}

/// The SDK for node, built once if needed.
fn node_sdk() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = repository().join("sdk/typescript");
        let built = folder.join("dist/index.js");
        let newest = |path: PathBuf| {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            entries.filter_map(|entry| entry.metadata().ok()?.modified().ok()).max()
        };
        if fs::metadata(&built).and_then(|about| about.modified()).ok() < newest(folder.join("src"))
        {
            let npm = |words: &[&str]| {
                let made = Command::new("npm").args(words).current_dir(&folder).output();
                let made = made.unwrap_or_else(|error| panic!("npm: {error}"));
                assert!(made.status.success(), "npm {words:?}: {made:?}");
            };
            if !folder.join("node_modules").exists() {
                npm(&["install", "--no-audit", "--no-fund", "--ignore-scripts"]);
            }
            npm(&["run", "build"]);
        }
        built
    })
}
