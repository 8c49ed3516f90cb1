//! P10: the supervisor dies while mail is sent and read.

use crate::mail::verbs::injected;
use ostler_e2e::{ControlSocket, Home};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const SENDERS: usize = 6;
const EACH: usize = 10;
const KILLS: usize = 5;

fn subjects(mails: &[Value]) -> BTreeMap<String, usize> {
    let mut subjects = BTreeMap::new();
    for mail in mails {
        *subjects.entry(mail["subject"].as_str().expect("a text").to_owned()).or_default() += 1;
    }
    subjects
}

/// P10: the supervisor is killed repeatedly: every acknowledged message is stored exactly once.
#[test]
fn a_supervisor_killed_during_sends_neither_loses_nor_repeats_mail() {
    let home = Home::new();
    home.ostler(&["start"]).ok();
    let sent = AtomicUsize::new(0);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let (home, sent) = (&home, &sent);
                scope.spawn(move || {
                    for number in 0..EACH {
                        let subject = format!("{sender}-{number}");
                        home.ostler(&["mail", "send", "mayor", "-s", &subject, "-m", "x"]).ok();
                        sent.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        let (home, sent, is_over) = (&home, &sent, &is_over);
        scope.spawn(move || {
            for kill in 1..=KILLS {
                let due = kill * SENDERS * EACH / (KILLS + 1);
                while sent.load(Ordering::SeqCst) < due && !is_over.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                if let Some(supervisor) = home.supervisor() {
                    supervisor.signal(ostler_e2e::Signal::KILL);
                }
            }
        });
        for sender in senders {
            sender.join().expect("every message was acknowledged");
        }
        is_over.store(true, Ordering::SeqCst);
    });
    let all = home.ostler(&["mail", "inbox", "mayor", "--json"]).ok().json();
    let subjects = subjects(all.as_array().expect("a list"));
    assert_eq!(subjects.len(), SENDERS * EACH);
    assert!(subjects.values().all(|times| *times == 1), "{subjects:?}");
}

/// P10: the supervisor dies at the commit: the sender repeats its request to the next one, and one message is stored.
#[test]
fn a_send_during_a_crash_at_its_commit_is_stored_once() {
    let mut home = Home::new();
    let words = home.folder().join("last-words");
    home.set("OSTLER_FAILPOINT", &format!("say:{}", words.display()));
    home.ostler(&["start"]).ok();
    let before = home.supervisor_pid();
    std::fs::write(&words, "struck\n").expect("written");
    home.ostler(&["mail", "send", "mayor", "-s", "once", "-m", "x"]).ok();
    assert_ne!(home.supervisor_pid(), before, "the supervisor died");
    assert_eq!(injected(&home, "mayor").len(), 1);
    assert!(injected(&home, "mayor").is_empty());
}

/// P10: a message with a known id is not stored again, even if the first was read or removed meanwhile.
#[test]
fn a_message_that_is_sent_again_is_not_stored_again() {
    let home = Home::new();
    home.ostler(&["start"]).ok();
    let mut socket = ControlSocket::connect(&home);
    let draft = |body: &str| json!({ "id": "0abc-1", "from": "a", "to": "mayor", "subject": "s", "body": body });
    socket.ask("mail.send", draft("x"));
    home.kill_supervisor();
    let mut socket = ControlSocket::connect(&home);
    assert_eq!(socket.ask("mail.send", draft("x"))["id"], "0abc-1");
    assert_eq!(injected(&home, "mayor").len(), 1);
    socket.ask("mail.send", draft("x"));
    assert!(injected(&home, "mayor").is_empty(), "the message is read");
    let removed = socket.ask("mail.remove", json!({ "ids": ["0abc-1", "none"] }));
    assert_eq!(removed.as_array().expect("a list").len(), 1);
    let again = socket.ask("mail.remove", json!({ "ids": ["0abc-1"] }));
    assert!(again.as_array().expect("a list").is_empty(), "no other reader got it");
    socket.ask("mail.send", draft("x"));
    assert!(
        home.ostler(&["mail", "inbox", "mayor", "--all", "--json"]).ok().text().starts_with("[]")
    );
    let mut other = draft("x");
    other["subject"] = json!("other");
    let (code, description) = socket.refused("mail.send", other);
    assert_eq!(code, "CONFLICT");
    assert!(description.contains("0abc-1"), "{description}");
}
