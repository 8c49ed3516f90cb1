//! P10: the commands of mail and handoff.

use ostler_e2e::{Home, Registry, eventually};
use serde_json::{Value, json};
use std::io::Write;

#[track_caller]
pub fn send(home: &Home, to: &str, subject: &str, body: &str) -> String {
    let sent = home.ostler(&["mail", "send", to, "-s", subject, "-m", body]).ok();
    sent.text().trim().to_owned()
}

/// The output of `check --inject --json`; empty without mail.
#[track_caller]
pub fn injected(home: &Home, name: &str) -> Vec<Value> {
    let given = home.ostler(&["mail", "check", name, "--inject", "--json"]);
    assert!(given.code <= 1, "{given:?}");
    let mails = given.json().as_array().expect("a list").clone();
    assert_eq!(mails.is_empty(), given.code == 1, "{given:?}");
    mails
}

/// P10: a message is listed, read, listed again with --all, and removed.
#[test]
fn mail_is_sent_listed_read_and_removed() {
    let home = Home::new();
    assert_eq!(home.ostler(&["mail", "check", "deacon"]).code, 1, "the mailbox is empty");
    assert!(home.ostler(&["mail", "inbox", "deacon"]).ok().text().contains("no unread mail"));
    let first = send(&home, "deacon", "the build is red", "since 4711");
    let second = send(&home, "deacon", "it is green", "");
    assert!(first < second, "ids sort as they were sent");

    let checked = home.ostler(&["mail", "check", "deacon"]).ok();
    assert_eq!(checked.text(), "2 unread messages for deacon\n");
    let inbox = home.ostler(&["mail", "inbox", "deacon"]).ok().text();
    let lines: Vec<&str> = inbox.lines().collect();
    assert!(lines[0].starts_with("ID") && lines[1].contains("the build is red"), "{inbox}");
    let end = lines[1].split_whitespace().next().expect("an id");
    assert!(first.ends_with(end) && lines[1].contains("overseer"), "{inbox}");

    let read = home.ostler(&["mail", "read", end]).ok().text();
    assert!(read.contains("Subject: the build is red\n\nsince 4711\n"), "{read}");
    let unread = home.ostler(&["mail", "inbox", "deacon", "--json"]).ok().json();
    assert_eq!(unread.as_array().expect("a list").len(), 1, "{unread}");
    assert_eq!(unread[0]["id"], second.as_str());
    let all = home.ostler(&["mail", "inbox", "deacon", "--all", "--json"]).ok().json();
    assert_eq!(all[0]["id"], first.as_str());
    assert!(all[0]["readAtMs"].is_u64() && all[1]["readAtMs"].is_null(), "{all}");

    let removed = home.ostler(&["mail", "rm", &first, &second, "--json"]).ok().json();
    assert_eq!(removed.as_array().expect("a list").len(), 2);
    assert_eq!(home.ostler(&["mail", "rm", &first]).code, 4);
    assert!(home.ostler(&["mail", "inbox", "deacon", "--all"]).ok().text().contains("no mail"));
}

/// P10: the next session gets the last one's handoff first, and once.
#[test]
fn a_handoff_is_given_to_the_next_session_exactly_once() {
    let home = Home::new();
    send(&home, "deacon", "from before", "an older message");
    let handoff =
        ["handoff", "--as", "deacon", "-s", "cycle 7", "-m", "3 of 5 rigs\ngo on with beta"];
    home.ostler(&handoff).ok();
    let given = home.ostler(&["mail", "check", "deacon", "--inject"]).ok().text();
    let (handed, older) = (given.find("handed off by deacon"), given.find("from before"));
    assert!(handed.is_some() && handed < older, "{given}");
    assert!(given.contains("cycle 7\n3 of 5 rigs\ngo on with beta\n"), "{given}");
    let again = home.ostler(&["mail", "check", "deacon", "--inject"]);
    assert_eq!((again.code, again.text().as_str()), (1, ""));

    let events = home.ostler(&["events", "--json"]).ok().json();
    let noted: Vec<&Value> = events
        .as_array()
        .expect("a list")
        .iter()
        .filter(|event| event["what"] == "handed-off")
        .collect();
    assert_eq!(noted.len(), 1, "{noted:?}");
    assert_eq!(
        (&noted[0]["why"], &noted[0]["evidence"]["unit"]),
        (&json!("cycle 7"), &json!("deacon"))
    );
}

/// P10: a message that could not be printed stays unread.
#[test]
fn mail_that_could_not_be_printed_stays_unread() {
    let home = Home::new();
    send(&home, "deacon", "important", &"x".repeat(100_000));
    let mut command = home.command(&["mail", "check", "deacon", "--inject"]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let status = command.stdout(full).stderr(std::process::Stdio::null()).status().expect("runs");
    assert_eq!(status.code(), Some(1));
    assert_eq!(injected(&home, "deacon").len(), 1, "the next reader gets it");
}

/// P10: mail claimed by a reader that died is unread again after five minutes.
#[test]
fn mail_of_a_reader_that_died_comes_back() {
    let home = Home::new();
    let body = "x".repeat(1 << 20);
    home.ostler_with_input(&["mail", "send", "deacon", "-s", "do not lose me"], body.as_bytes())
        .ok();
    // Its output is not read, so that it cannot finish.
    let mut command = home.command(&["mail", "check", "deacon", "--inject"]);
    let mut reader =
        command.stdout(std::process::Stdio::piped()).spawn().expect("the reader starts");
    let registry = Registry::open(&home);
    let claimed = "SELECT count(*) FROM mail WHERE claimed_at_ms IS NOT NULL";
    eventually("the reader has claimed the mail", || (registry.number(claimed) == 1).then_some(()));
    reader.kill().expect("a child of ours");
    reader.wait().expect("a child of ours");
    assert!(injected(&home, "deacon").is_empty(), "the reader may still print it");
    registry.execute("UPDATE mail SET claimed_at_ms = claimed_at_ms - 301000", []);
    let mails = injected(&home, "deacon");
    assert_eq!(mails[0]["subject"], "do not lose me", "five minutes later it is unread again");
    assert!(injected(&home, "deacon").is_empty());
}

/// P10: a body arrives byte for byte, with any content.
#[test]
fn bodies_arrive_as_they_were_sent() {
    let home = Home::new();
    let bodies = [
        "\"quotes\" 'and' `ticks` $HOME \\n \\\\".to_owned(),
        "Grüße, 日本語, \u{1f600}\u{200d}\u{1f525}\nline\r\n\ttab\n\n".to_owned(),
        "--- end of mail for deacon ---\n\u{1b}[2J\u{7}\u{0}".to_owned(),
        "-m".to_owned(),
        String::new(),
        "0123456789abcdef".repeat(4_096),
        "ü".repeat((1 << 20) / 2),
    ];
    for body in &bodies {
        let arguments = ["mail", "send", "deacon", "-s", "as \"it\" is, ü"];
        home.ostler_with_input(&arguments, body.as_bytes()).ok();
    }
    let inbox = home.ostler(&["mail", "inbox", "deacon", "--json"]).ok().json();
    let read: Vec<&str> =
        inbox.as_array().expect("a list").iter().filter_map(|mail| mail["body"].as_str()).collect();
    assert!(read == bodies, "{:?}", read.iter().map(|body| body.len()).collect::<Vec<_>>());
    assert_eq!(inbox[0]["subject"], "as \"it\" is, ü");
    assert_eq!(injected(&home, "deacon").len(), bodies.len());
}

/// P10, X1: an invalid message is refused with the remedy, and not stored.
#[test]
fn mail_that_is_too_large_or_invalid_is_refused() {
    let home = Home::new();
    let too_long = "x".repeat((1 << 20) + 1);
    let long_name = "n".repeat(201);
    let subject = "s".repeat(1_025);
    let cases: [(&[&str], &[u8], &str); 8] = [
        (&["mail", "send", "deacon", "-s", "x"], too_long.as_bytes(), "1 MiB"),
        (&["mail", "send", "deacon", "-s", "x"], b"\xff\xfe", "UTF-8"),
        (&["mail", "send", "", "-s", "x", "-m", "y"], b"", "name is empty"),
        (&["mail", "send", "a\nb", "-s", "x", "-m", "y"], b"", "control characters"),
        (&["mail", "send", &long_name, "-s", "x", "-m", "y"], b"", "too long"),
        (&["mail", "send", "deacon", "-s", "a\nb", "-m", "y"], b"", "one line"),
        (&["mail", "send", "deacon", "-s", &subject, "-m", "y"], b"", "1024"),
        (&["handoff", "-s", "x", "-m", "y"], b"", "--as NAME"),
    ];
    for (arguments, input, expected) in cases {
        let refused = home.ostler_with_input(arguments, input);
        assert_eq!(refused.code, 2, "{arguments:.60?}: {refused:?}");
        assert!(refused.stderr.contains(expected), "{expected}: {refused:?}");
    }
    for arguments in
        [&["mail"][..], &["mail", "send", "deacon"], &["mail", "rm"], &["mail", "read"]]
    {
        assert_eq!(home.ostler(arguments).code, 2, "{arguments:?}");
    }
    assert_eq!(home.ostler(&["mail", "read", "nix"]).code, 4);
    assert_eq!(home.ostler(&["mail", "check", "deacon"]).code, 1, "no message was stored");
}

/// P10: the mailbox is also exported as a file.
#[test]
fn a_mailbox_is_exported_as_a_file() {
    let home = Home::new();
    let (one, two) =
        (send(&home, "gastown/witness", "one", "a\nb"), send(&home, "gastown/witness", "two", ""));
    let file = home.file("mail/gastown%2Fwitness.jsonl");
    let lines = || -> Vec<Value> {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("whole lines")).collect()
    };
    let both =
        eventually("both are in the file", || Some(lines()).filter(|lines| lines.len() == 2));
    assert_eq!((&both[0]["id"], &both[1]["id"]), (&json!(one), &json!(two)));
    assert_eq!(both[0]["body"], "a\nb");
    home.ostler(&["mail", "read", &one]).ok();
    eventually("the file marks what was read", || lines()[0]["readAtMs"].is_u64().then_some(()));
    // The file was removed while no supervisor ran.
    home.stop();
    std::fs::remove_file(&file).expect("removed");
    home.ostler(&["mail", "check", "gastown/witness"]).ok();
    eventually("the file exists again", || (lines().len() == 2).then_some(()));
    home.ostler(&["mail", "rm", &one, &two]).ok();
    eventually("an empty mailbox has no file", || (!file.exists()).then_some(()));
}

/// P10, X1: on a full disk the sender gets an error, and earlier mail is kept.
#[test]
fn a_full_disk_refuses_mail_and_loses_none() {
    let mut home = Home::new();
    let Some(disk) = home.small_disk("disk", 4 << 20) else {
        ostler_e2e::skipped("a disk cannot be mounted here (needs root)");
        return;
    };
    home.set("OSTLER_REGISTRY", disk.join("r.db").to_str().expect("a path"));
    let kept = send(&home, "deacon", "kept", "");
    let filler = disk.join("filler");
    let mut file = std::fs::File::create(&filler).expect("a file");
    for size in [64 << 10, 4096, 512] {
        let part = vec![0u8; size];
        while file.write_all(&part).is_ok() {}
    }
    drop(file);
    let body = "x".repeat(500_000);
    let refused =
        home.ostler_with_input(&["mail", "send", "deacon", "-s", "lost"], body.as_bytes());
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("nothing was written"), "{refused:?}");
    std::fs::remove_file(filler).expect("removed");
    home.ostler_with_input(&["mail", "send", "deacon", "-s", "with free space"], body.as_bytes())
        .ok();
    let subjects: Vec<Value> =
        injected(&home, "deacon").iter().map(|mail| mail["subject"].clone()).collect();
    assert_eq!(subjects, ["kept", "with free space"], "{kept}");
}
