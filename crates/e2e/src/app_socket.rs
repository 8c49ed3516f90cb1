//! A client of the app socket, as an operator uses it.

use crate::home::Home;
use crate::waiting::{PATIENCE, eventually};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;

pub struct Wire {
    reader: BufReader<UnixStream>,
    events: VecDeque<Value>,
    number: u64,
}

impl Wire {
    /// Connects as soon as a supervisor listens.
    pub fn connect(home: &Home) -> Self {
        let path = home.file("kernel.sock");
        let stream = eventually("the app socket is open", || UnixStream::connect(&path).ok());
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
        Self { reader: BufReader::new(stream), events: VecDeque::new(), number: 0 }
    }

    /// Fails if the connection is closed.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    /// Sends this repeatedly until the socket accepts no more.
    pub fn send_until_full(&mut self, bytes: &[u8]) {
        let stream = self.reader.get_mut();
        stream.set_nonblocking(true).expect("a socket");
        while stream.write(bytes).is_ok_and(|length| length == bytes.len()) {}
        stream.set_nonblocking(false).expect("a socket");
    }

    /// The next message; `None` at the end.
    pub fn message(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => {
                Some(serde_json::from_str(&line).unwrap_or_else(|bad| panic!("{bad}: {line:?}")))
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => None,
            Err(error) => panic!("no message was received: {error}"),
        }
    }

    /// The next answer. Events that arrive before it are kept.
    pub fn answer(&mut self) -> Value {
        loop {
            let message = self.message().expect("an answer before the end");
            if message["type"] == "response" {
                return message;
            }
            self.events.push_back(message);
        }
    }

    /// Sends a request and returns the whole answer.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let id = format!("call {}", self.number);
        let request = json!({ "id": id, "type": "request", "method": method, "params": params });
        self.send(format!("{request}\n").as_bytes()).expect("the request is sent");
        let answer = self.answer();
        assert_eq!(answer["requestId"], id, "{answer}");
        answer
    }

    /// Sends a request and returns its result; it must succeed.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.call(method, params);
        assert_eq!(answer["success"], true, "{answer}");
        answer["result"].clone()
    }

    /// Sends a request and returns the error's code and message; it must fail.
    #[track_caller]
    pub fn refused(&mut self, method: &str, params: Value) -> (String, String) {
        let answer = self.call(method, params);
        assert_eq!(answer["success"], false, "{answer}");
        let text = |name: &str| answer["error"][name].as_str().expect("a text").to_owned();
        (text("code"), text("message"))
    }

    /// The next event.
    #[track_caller]
    pub fn event(&mut self) -> Value {
        self.events.pop_front().unwrap_or_else(|| {
            let message = self.message().expect("an event before the end");
            assert_eq!(message["type"], "event", "{message}");
            message
        })
    }
}
