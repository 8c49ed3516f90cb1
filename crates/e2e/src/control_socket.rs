//! A client of the control socket that sends single requests: for what no command does.

use crate::home::Home;
use crate::waiting::{PATIENCE, eventually};
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

pub struct ControlSocket {
    stream: BufReader<UnixStream>,
    number: u64,
}

impl ControlSocket {
    /// Connects as soon as the socket accepts.
    pub fn connect(home: &Home) -> Self {
        let path = home.file("ostler.sock");
        let stream = eventually("the control socket accepts connections", || {
            UnixStream::connect(&path).ok()
        });
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Self { stream: BufReader::new(stream), number: 0 }
    }

    /// Sends a request and returns the whole answer; fails if the supervisor has ended.
    pub fn try_call(&mut self, method: &str, params: &Value) -> io::Result<Value> {
        self.number += 1;
        let request = json!({ "id": self.number, "method": method, "params": params });
        self.stream.get_mut().write_all(format!("{request}\n").as_bytes())?;
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(serde_json::from_str(&line).unwrap_or_else(|bad| panic!("{bad}: {line:?}")))
    }

    /// Sends a request and returns its result; it must succeed.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.try_call(method, &params).expect("an answer");
        assert!(answer.get("ok").is_some(), "{params}: {answer}");
        answer["ok"].clone()
    }

    /// Sends a request and returns the error's code and message; it must fail.
    #[track_caller]
    pub fn refused(&mut self, method: &str, params: Value) -> (String, String) {
        let answer = self.try_call(method, &params).expect("an answer");
        let text = |name: &str| {
            let text = answer["error"][name].as_str();
            text.unwrap_or_else(|| panic!("{params}: {answer}")).to_owned()
        };
        (text("code"), text("message"))
    }
}
