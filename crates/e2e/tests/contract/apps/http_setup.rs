//! Helpers for tests of HTTP: a daemon that listens, an app with a scope, and a client that sends exact bytes.

use crate::units::setup::Project;
use ostler_e2e::{PATIENCE, eventually};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;

pub const ID: &str = "@e2e/bot";

const APP: &str = r#"
import json, os, signal, socket, sys
wire = socket.socket(socket.AF_UNIX)
wire.connect(os.environ["OPENCLAWOS_SOCKET"])
lines = wire.makefile("r")
def call(method, params, token=None):
    asked = {"id": method, "type": "request", "method": method, "params": params, "token": token}
    wire.sendall((json.dumps(asked) + "\n").encode())
    answer = json.loads(lines.readline())
    assert answer["success"], answer
    return answer["result"]
own = {"id": os.environ["OPENCLAWOS_APP_ID"], "type": "app", "protocol": {"version": "1.0"}}
token = call("app.register", {"manifest": own})["token"]
for number in range(5):
    print("line", number, flush=True)
print("a complaint", file=sys.stderr, flush=True)
call("app.ready", {}, token)
for line in lines:
    if json.loads(line).get("event") == "shutdown":
        sys.exit()
# The supervisor is gone, and the next one ends us by a signal.
signal.pause()
"#;

pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Self { status: status.unwrap_or(0), head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        let read = serde_json::from_str(&self.body);
        read.unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.body))
    }

    /// The status, and our code for it.
    #[track_caller]
    pub fn refusal(&self) -> (u16, String) {
        let json = self.json();
        assert!(json["error"]["message"].is_string(), "{json}");
        (self.status, json["error"]["code"].as_str().expect("a code").to_owned())
    }
}

pub struct Web {
    pub project: Project,
    pub address: String,
    pub token: String,
}

impl Web {
    /// One app, ready, and a token.
    pub fn new() -> Self {
        Self::with(&[])
    }

    /// And these units.
    pub fn with(units: &[(&str, &str)]) -> Self {
        let project = Project::with(&[crate::daemon::setup::QUICK, ("OSTLER_HTTP", "127.0.0.1:0")]);
        let manifest = json!({
            "id": ID, "name": "Bot", "version": "1.0.0", "type": "app", "main": "main.py",
            "protocol": { "version": "1.0" },
        });
        std::fs::write(project.path("main.py"), APP).expect("written");
        std::fs::write(project.path("bot.json"), manifest.to_string()).expect("written");
        let app = ("bot", "manifest = \"bot.json\"");
        project.declare(&[&[app], units].concat());
        project.up().ok();
        let address = listening(&project);
        let token = project.home.ostler(&["token"]).ok().text().trim().to_owned();
        Self { project, address, token }
    }

    /// Sends these bytes, and reads up to the end.
    pub fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        let _ = stream.write_all(bytes);
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        Answer::read(&String::from_utf8_lossy(&text))
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("the daemon listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream
    }

    /// With exactly these headers.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.raw(text.as_bytes())
    }

    pub fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        self.send(method, path, &[("Host", &self.address), ("Authorization", &bearer)], body)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "")
    }

    /// Follows events; reads only the head of the answer.
    pub fn follow(&self) -> (u16, TcpStream) {
        let mut stream = self.connect();
        let (address, token) = (&self.address, &self.token);
        let head = format!("Host: {address}\r\nAuthorization: Bearer {token}");
        let _ = write!(stream, "GET /api/events HTTP/1.1\r\n{head}\r\n\r\n");
        let mut text = [0; 12];
        let _ = stream.read_exact(&mut text);
        (Answer::read(&String::from_utf8_lossy(&text)).status, stream)
    }

    #[track_caller]
    pub fn rpc(&self, call: &Value) -> Value {
        self.ask("POST", "/rpc", &call.to_string()).json()
    }
}

/// The address that the daemon prints.
pub fn listening(project: &Project) -> String {
    eventually("an address", || {
        let status = project.home.ostler(&["status", "--json"]).json();
        status["http"].as_str().map(str::to_owned)
    })
}
