//! Parsing of sd_notify datagrams.

use ostler_guardian::{Notification, SupervisorMessage, parse};
use std::path::PathBuf;

#[test]
fn messages_of_systemd_are_understood() {
    let description = parse(b"READY=1\nSTATUS=3 runs\nMAINPID=5\nWATCHDOG=1\n");
    assert_eq!(description.words, [SupervisorMessage::Ready, SupervisorMessage::Alive]);
    assert_eq!(description.status.as_deref(), Some("3 runs"));
    let description = parse(b"STOPPING=1\nEXTEND_TIMEOUT_USEC=18000000");
    assert_eq!(
        description.words,
        [SupervisorMessage::Stopping, SupervisorMessage::Extend { ms: 18_000 }]
    );
    let description = parse(b"FDSTORE=1\nFDPOLL=0\nFDNAME=8ytq0a2zo\nX_OSTLER_PROCESS=77");
    assert_eq!(
        description,
        Notification {
            store: true,
            name: Some("8ytq0a2zo".to_owned()),
            process: Some(77),
            ..Notification::default()
        }
    );
    let description = parse(b"FDSTOREREMOVE=1\nFDNAME=8ytq0a2zo");
    assert!(description.remove && !description.store);
    let description = parse(b"X_OSTLER_HAND_OVER=/opt/ostler 2/ostler");
    assert_eq!(description.words, [SupervisorMessage::Candidate]);
    assert_eq!(description.candidate, Some(PathBuf::from("/opt/ostler 2/ostler")));
}

#[test]
fn an_invalid_descriptor_name_is_ignored() {
    for name in ["", "a:b", "a b", "\u{7f}", "ä", &"x".repeat(256)] {
        let description = parse(format!("FDSTORE=1\nFDNAME={name}").as_bytes());
        assert_eq!(description.name, None, "{name:?}");
    }
    assert_eq!(parse(b"FDSTORE=1").name.as_deref(), Some("stored"));
}

#[test]
fn unknown_messages_are_ignored() {
    for text in [
        "READY=0",
        "READY",
        "=1",
        "ready=1",
        "WATCHDOG=trigger",
        "EXTEND_TIMEOUT_USEC=-1",
        "EXTEND_TIMEOUT_USEC=99999999999999999999999",
        "X_OSTLER_PROCESS=-4",
        "X_OSTLER_PROCESS=0",
        "X_OSTLER_HAND_OVER=relative/path",
        "X_OSTLER_HAND_OVER=/with\0zero",
    ] {
        let description = parse(text.as_bytes());
        assert_eq!(description.words, [], "{text:?}");
        assert_eq!((description.process, description.candidate), (None, None), "{text:?}");
    }
}

/// Arbitrary bytes: no panic, and no name that could break a colon-separated list.
#[test]
fn any_bytes_of_the_supervisor_are_handled() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let pieces: [&[u8]; 12] = [
        b"READY=1",
        b"FDSTORE=1",
        b"FDNAME=",
        b"\n",
        b"=",
        b"\0",
        b":",
        b"\xff\xfe",
        b"WATCHDOG=1",
        b"EXTEND_TIMEOUT_USEC=",
        b"18446744073709551615",
        b"X_OSTLER_PROCESS=",
    ];
    for _ in 0..50_000 {
        let mut datagram = Vec::new();
        for _ in 0..next() % 12 {
            if next() % 3 == 0 {
                datagram.extend((0..next() % 40).map(|_| next() as u8));
            } else {
                datagram.extend_from_slice(pieces[(next() % pieces.len() as u64) as usize]);
            }
        }
        let description = parse(&datagram);
        if let Some(name) = description.name {
            assert!(!name.is_empty() && name.len() <= 255 && !name.contains([':', '\n', ' ']));
        }
    }
}
