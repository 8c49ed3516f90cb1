//! The journal as server-sent events.

use crate::http::setup::Api;
use ostler_e2e::eventually;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

/// A client that follows, and remembers the last id as a browser does.
struct Follower {
    lines: BufReader<TcpStream>,
}

impl Follower {
    fn begin(api: &Api, query: &str, last: Option<&str>) -> Option<Self> {
        let mut stream = TcpStream::connect(&api.web.address).ok()?;
        stream.set_read_timeout(Some(ostler_e2e::PATIENCE)).ok()?;
        let last = last.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
        let (address, token) = (&api.web.address, &api.web.token);
        let head = format!("Host: {address}\r\nAuthorization: Bearer {token}\r\n{last}");
        write!(stream, "GET /api/v1/events?follow=1{query} HTTP/1.1\r\n{head}\r\n").ok()?;
        let mut lines = BufReader::new(stream);
        let mut status = String::new();
        lines.read_line(&mut status).ok()?;
        status.starts_with("HTTP/1.1 200").then_some(Self { lines })
    }

    /// The id and the entry of the next event; `None` if the connection ended.
    fn next(&mut self) -> Option<(Option<String>, Value)> {
        let mut id = None;
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(text) = line.strip_prefix("id: ") {
                id = Some(text.trim().to_owned());
            }
            if let Some(text) = line.strip_prefix("data: ") {
                return Some((id, serde_json::from_str(text).ok()?));
            }
        }
    }
}

/// X9: a client that resumes by the last id gets every entry once, also from the next supervisor after SIGKILL.
#[test]
fn events_resume_after_kill_without_gap_or_double() {
    ostler_e2e::needs!("python3");
    let api = Api::new();
    let home = &api.web.project.home;
    let mut follower = Follower::begin(&api, "", None).expect("it follows");
    let (mut seen, mut last) = (Vec::new(), None);
    let mut take = |follower: &mut Follower, last: &mut Option<String>| {
        let (id, entry) = follower.next()?;
        let id = id.expect("an id");
        assert_eq!(entry["seq"].to_string(), id);
        seen.push(id.parse::<u64>().expect("a number"));
        *last = Some(id);
        Some(entry)
    };
    // Some of the entries so far; others may be lost on the way when the connection ends.
    for _ in 0..5 {
        take(&mut follower, &mut last).expect("an entry");
    }
    for _ in 0..2 {
        let run = api.spawn("pipe", &["true"]);
        while take(&mut follower, &mut last).expect("an entry")["runId"] != run {}
        crate::daemon::setup::replace_supervisor(home);
        while take(&mut follower, &mut last).is_some() {}
        follower = eventually("it follows again", || Follower::begin(&api, "", last.as_deref()));
    }
    let run = api.spawn("pipe", &["true"]);
    loop {
        let entry = take(&mut follower, &mut last).expect("an entry");
        if entry["runId"] == run && entry["what"] == "exited" {
            break;
        }
    }
    let page = api.get("/events?limit=1000").json();
    let all: Vec<u64> = page["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|entry| entry["seq"].as_u64().expect("a number"))
        .collect();
    let first_unseen = seen.last().expect("entries") + 1;
    let until: Vec<u64> = all.into_iter().filter(|seq| *seq < first_unseen).collect();
    assert_eq!(seen, until);
}

/// X9: a filter is for the stream too; heartbeats of output have no id, so they do not move the cursor.
#[test]
fn events_can_be_filtered() {
    ostler_e2e::needs!("python3");
    let api = Api::new();
    let mut follower =
        Follower::begin(&api, "&unit=web&newest=1&output=true", None).expect("follows");
    follower.next().expect("the newest entry");
    api.call("units.stop", "/units/bot/stop", None);
    api.call("units.stop", "/units/web/stop", None);
    let (id, entry) = follower.next().expect("an entry");
    assert!(id.is_some() && entry["what"] == "unit-stop-asked", "{entry}");
    api.web.project.home.ostler(&["token", "--revoke"]).ok();
    api.web.project.call(&["start", "web"]).ok();
    while let Some((_, entry)) = follower.next() {
        assert_ne!(entry["what"], "unit-start-asked", "without a token nothing is sent");
    }
}
