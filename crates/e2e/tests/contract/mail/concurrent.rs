//! P10: many senders and readers at once.

use crate::mail::verbs::injected;
use ostler_e2e::Home;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const SENDERS: usize = 40;
const EACH: usize = 5;
const READERS: usize = 6;
const LOOKERS: usize = 2;

/// P10: forty senders and six readers at once: no message is lost or delivered twice.
#[test]
fn mail_of_many_senders_arrives_exactly_once_with_many_readers() {
    let home = Home::new();
    home.ostler(&["start"]).ok();
    let sending = AtomicUsize::new(SENDERS);
    let read: Mutex<BTreeMap<String, usize>> = Mutex::default();
    std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let (home, sending) = (&home, &sending);
            scope.spawn(move || {
                for number in 0..EACH {
                    let subject = format!("{sender}-{number}");
                    let body = subject.repeat(1 + sender * 100);
                    let arguments = ["mail", "send", "mayor", "-s", &subject, "-m", &body];
                    home.ostler(&arguments).ok();
                }
                sending.fetch_sub(1, Ordering::SeqCst);
            });
        }
        for _ in 0..READERS {
            let (home, sending, read) = (&home, &sending, &read);
            scope.spawn(move || {
                loop {
                    let is_last = sending.load(Ordering::SeqCst) == 0;
                    let mails = injected(home, "mayor");
                    let is_empty = mails.is_empty();
                    let mut read = read.lock().expect("no panic inside");
                    for mail in mails {
                        let subject = mail["subject"].as_str().expect("a text").to_owned();
                        assert!(mail["body"].as_str().expect("a text").starts_with(&subject));
                        *read.entry(subject).or_default() += 1;
                    }
                    drop(read);
                    if is_last && is_empty {
                        return;
                    }
                }
            });
        }
        for _ in 0..LOOKERS {
            scope.spawn(|| {
                let mut known: Vec<String> = Vec::new();
                while sending.load(Ordering::SeqCst) > 0 {
                    let all =
                        home.ostler(&["mail", "inbox", "mayor", "--all", "--json"]).ok().json();
                    let mails = all.as_array().expect("a list").iter();
                    let now: Vec<String> = mails.map(|mail| mail["id"].to_string()).collect();
                    assert!(now.starts_with(&known), "the messages of this sender, in order");
                    known = now;
                }
            });
        }
    });
    let read = read.into_inner().expect("no panic inside");
    assert_eq!(read.len(), SENDERS * EACH, "nothing is lost");
    assert!(read.values().all(|times| *times == 1), "no message is delivered twice: {read:?}");
    let all = home.ostler(&["mail", "inbox", "mayor", "--all", "--json"]).ok().json();
    assert_eq!(all.as_array().expect("a list").len(), SENDERS * EACH);
}
