//! A server that answers like Ostler, or as a test configures it.

use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug)]
pub(super) enum FakeBehaviour {
    Silent,
    Refuse(&'static str),
    /// Half of an answer, then the end of the connection.
    Half,
}

#[derive(Default)]
struct Known {
    token: String,
    interval: Value,
    config: Value,
    /// The behaviours for the next requests of a method; later requests get the normal answer.
    attrs: HashMap<String, VecDeque<FakeBehaviour>>,
    requests: Vec<Value>,
    clients: HashMap<usize, UnixStream>,
    connections: usize,
    is_down: bool,
}

pub(super) struct FakeKernel {
    _folder: tempfile::TempDir,
    path: PathBuf,
    shared: Arc<(Mutex<Known>, Condvar)>,
}

impl FakeKernel {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let known = Known {
            token: "token-1".to_owned(),
            interval: json!(30_000),
            config: json!({ "config": {}, "version": 1 }),
            ..Known::default()
        };
        let shared = Arc::new((Mutex::new(known), Condvar::new()));
        let kernel = Self { path: folder.path().join("socket"), _folder: folder, shared };
        kernel.listen();
        kernel
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn listen(&self) {
        self.known().is_down = false;
        let listener = UnixListener::bind(&self.path).expect("a socket");
        let shared = Arc::clone(&self.shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if lock(&shared).is_down {
                    return;
                }
                let shared = Arc::clone(&shared);
                thread::spawn(move || serve(&shared, stream));
            }
        });
    }

    /// Ends the server and all connections, as a crash of Ostler would.
    pub(super) fn die(&self) {
        self.known().is_down = true;
        // Wakes the thread that accepts connections.
        let _ = UnixStream::connect(&self.path);
        let _ = std::fs::remove_file(&self.path);
        self.drop_all();
    }

    pub(super) fn drop_all(&self) {
        for client in self.known().clients.values() {
            let _ = client.shutdown(Shutdown::Both);
        }
        self.until("all connections are closed", |known| known.clients.is_empty().then_some(()));
    }

    pub(super) fn forget_token(&self) {
        self.known().token = "token-2".to_owned();
    }

    pub(super) fn beat_every(&self, ms: u64) {
        self.known().interval = json!(ms);
    }

    pub(super) fn configure(&self, config: Value) {
        self.known().config = config;
    }

    pub(super) fn next_is(&self, method: &str, attr: FakeBehaviour) {
        self.known().attrs.entry(method.to_owned()).or_default().push_back(attr);
    }

    /// Returns the next request with that method that no earlier call has returned.
    pub(super) fn next(&self, method: &str) -> Value {
        self.until(method, |known| {
            let at = known.requests.iter().position(|request| request["method"] == method)?;
            Some(known.requests.remove(at))
        })
    }

    pub(super) fn count(&self, method: &str) -> usize {
        let known = self.known();
        known.requests.iter().filter(|request| request["method"] == method).count()
    }

    pub(super) fn connections(&self) -> usize {
        self.known().connections
    }

    pub(super) fn until_disconnected(&self) {
        self.until("no connection is open", |known| known.clients.is_empty().then_some(()));
    }

    pub(super) fn event(&self, name: &str, payload: Value) {
        self.send(format!("{}\n", json!({ "type": "event", "event": name, "payload": payload })));
    }

    pub(super) fn send(&self, bytes: impl AsRef<[u8]>) {
        for mut client in self.known().clients.values() {
            client.write_all(bytes.as_ref()).expect("the client reads");
        }
    }

    fn until<T>(&self, what: &str, look: impl Fn(&mut Known) -> Option<T>) -> T {
        let (known, changed) = &*self.shared;
        let known = known.lock().expect("no panic");
        let mut found = None;
        let waited = changed.wait_timeout_while(known, PATIENCE, |known| {
            found = look(known);
            found.is_none()
        });
        drop(waited);
        found.unwrap_or_else(|| panic!("timed out: {what}"))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.shared)
    }
}

impl Drop for FakeKernel {
    fn drop(&mut self) {
        self.known().is_down = true;
        let _ = UnixStream::connect(&self.path);
    }
}

fn lock(shared: &(Mutex<Known>, Condvar)) -> MutexGuard<'_, Known> {
    shared.0.lock().expect("no panic")
}

fn serve(shared: &(Mutex<Known>, Condvar), stream: UnixStream) {
    let number = {
        let mut known = lock(shared);
        known.connections += 1;
        let number = known.connections;
        known.clients.insert(number, stream.try_clone().expect("a clone"));
        number
    };
    shared.1.notify_all();
    let mut writing = stream.try_clone().expect("a clone");
    for line in BufReader::new(&stream).lines().map_while(Result::ok) {
        let request: Value = serde_json::from_str(&line).expect("JSON");
        let mut known = lock(shared);
        let answer = known.answer(&request);
        known.requests.push(request);
        drop(known);
        shared.1.notify_all();
        let _ = writing.write_all(answer.as_bytes());
        if !answer.is_empty() && !answer.ends_with('\n') {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
    lock(shared).clients.remove(&number);
    shared.1.notify_all();
}

impl Known {
    fn answer(&mut self, request: &Value) -> String {
        let method = request["method"].as_str().expect("a method");
        let mut response =
            json!({ "type": "response", "requestId": request["id"], "success": true });
        let mut refuse = |code: &str| {
            response["success"] = json!(false);
            let message = format!("refused with {code}");
            response["error"] = json!({ "code": code, "message": message, "details": [1] });
        };
        match self.attrs.get_mut(method).and_then(VecDeque::pop_front) {
            Some(FakeBehaviour::Silent) => return String::new(),
            Some(FakeBehaviour::Half) => {
                return "{\"type\":\"response\",\"requestId\":\"".to_owned();
            }
            Some(FakeBehaviour::Refuse(code)) => refuse(code),
            None if method == "app.register" => {
                response["result"] =
                    json!({ "token": self.token, "heartbeatInterval": self.interval });
            }
            None if request["token"] != json!(self.token) => refuse("UNAUTHORIZED"),
            None if method == "config.get" => response["result"] = self.config.clone(),
            None => response["result"] = json!({ "ok": true }),
        }
        format!("{response}\n")
    }
}
