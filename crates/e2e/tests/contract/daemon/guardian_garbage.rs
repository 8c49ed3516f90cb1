//! Invalid messages to the guardian's socket: it goes on, and keeps its descriptors.

use ostler_e2e::{Home, Signal, eventually};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketType, UCred, connect, sendmsg, socket,
};
use rustix::process::Pid;
use std::fs::File;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

/// As this process, or (with permission) in the supervisor's name.
enum Sender {
    Ourselves,
    Supervisor(i32),
}

fn open(home: &Home) -> OwnedFd {
    let socket = socket(AddressFamily::UNIX, SocketType::DGRAM, None).expect("a socket");
    let address = SocketAddrUnix::new(home.file("guardian.sock")).expect("an address");
    connect(&socket, &address).expect("the guardian's socket accepts");
    socket
}

/// Returns false without permission to send in that name.
fn send(socket: &OwnedFd, sender: &Sender, text: &[u8], descriptors: usize) -> bool {
    let file = File::open("/dev/null").expect("a file");
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253), ScmCredentials(1))];
    let mut extra = SendAncillaryBuffer::new(&mut space);
    let passed = vec![file.as_fd(); descriptors];
    if descriptors > 0 {
        extra.push(SendAncillaryMessage::ScmRights(&passed));
    }
    if let Sender::Supervisor(pid) = sender {
        let credentials = UCred {
            pid: Pid::from_raw(*pid).expect("a pid"),
            uid: rustix::process::getuid(),
            gid: rustix::process::getgid(),
        };
        extra.push(SendAncillaryMessage::ScmCredentials(credentials));
    }
    let flags = SendFlags::NOSIGNAL;
    sendmsg(socket, &[IoSlice::new(text)], &mut extra, flags).is_ok()
}

fn garbage(next: &mut impl FnMut() -> u64) -> Vec<u8> {
    let pieces: [&[u8]; 10] = [
        b"FDSTORE=1\n",
        b"FDNAME=x\n",
        b"FDNAME=a:b\n",
        b"FDSTOREREMOVE=1\n",
        b"X_OSTLER_PROCESS=1\n",
        b"WATCHDOG=1\n",
        b"READY=1\n",
        b"EXTEND_TIMEOUT_USEC=1\n",
        b"\xff\0=",
        b"STATUS=",
    ];
    let mut text = Vec::new();
    for _ in 0..next() % 8 {
        if next().is_multiple_of(3) {
            text.extend((0..next() % 3_000).map(|_| next() as u8));
        } else {
            text.extend_from_slice(pieces[(next() % pieces.len() as u64) as usize]);
        }
    }
    text
}

/// D8, D9: garbage, unknown descriptors, too many of them, from other processes and in the
/// supervisor's own name: the guardian goes on, and replaces a supervisor that dies.
#[test]
fn garbage_in_its_mailbox_does_not_end_the_guardian() {
    let home = Home::new();
    let run = home.start(&["--stdin"], &["cat"]);
    let (guardian, root) = (home.guardian().expect("a guardian"), home.root(&run));
    let supervisor = home.supervisor_pid();
    let socket = open(&home);
    let mut seed = 0x1234_5678_9abc_def1_u64;
    let mut next = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    for round in 0..3_000 {
        let sender = match round % 2 {
            0 => Sender::Ourselves,
            _ => Sender::Supervisor(supervisor),
        };
        let descriptors = if next().is_multiple_of(4) { next() as usize % 254 } else { 0 };
        send(&socket, &sender, &garbage(&mut next), descriptors);
    }
    // More than it can hold.
    for _ in 0..200 {
        send(&socket, &Sender::Supervisor(supervisor), b"FDSTORE=1\nFDNAME=junk", 253);
    }
    assert!(guardian.is_alive());
    home.ostler(&["write", &run, "--text", "one\n"]).ok();
    home.kill_supervisor();
    eventually("another supervisor answers", || home.supervisor());
    home.ostler(&["write", &run, "--text", "two\n"]).ok();
    home.until_logged(&run, "two");
    assert_eq!(home.root(&run), root);
    assert!(guardian.is_alive());
    home.ostler(&["write", &run, "--text", "three\n", "--eof"]).ok();
    assert_eq!(home.wait(&run)["exitCode"], 0);
    assert_eq!(home.ostler(&["logs", &run]).ok().text(), "one\ntwo\nthree\n");
    guardian.signal(Signal::CONT);
}
