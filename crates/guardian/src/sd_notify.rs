//! Parses datagrams of the sd_notify protocol. Unknown assignments are ignored.

use crate::machine::SupervisorMessage;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

const NAME_MOST: usize = 255;

/// One parsed datagram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notification {
    pub words: Vec<SupervisorMessage>,
    /// Keep the file descriptors that came with the datagram.
    pub store: bool,
    /// Close the stored file descriptors of this name.
    pub remove: bool,
    /// `stored` if the datagram has no `FDNAME`, as with systemd; `None` if the value is not a valid name.
    pub name: Option<String>,
    /// The stored file descriptor is the pidfd of this process. The guardian keeps its exit status.
    pub process: Option<i32>,
    /// For people.
    pub status: Option<String>,
    /// The executable of the next hand-over.
    pub candidate: Option<PathBuf>,
}

pub fn parse(datagram: &[u8]) -> Notification {
    let mut description =
        Notification { name: Some("stored".to_owned()), ..Notification::default() };
    for line in datagram.split(|byte| *byte == b'\n') {
        let Some(equals) = line.iter().position(|byte| *byte == b'=') else { continue };
        let value = &line[equals + 1..];
        match &line[..equals] {
            b"READY" if value == b"1" => description.words.push(SupervisorMessage::Ready),
            b"WATCHDOG" if value == b"1" => description.words.push(SupervisorMessage::Alive),
            b"STOPPING" if value == b"1" => description.words.push(SupervisorMessage::Stopping),
            b"EXTEND_TIMEOUT_USEC" => {
                if let Some(us) = number::<u64>(value) {
                    description.words.push(SupervisorMessage::Extend { ms: us / 1_000 });
                }
            }
            b"STATUS" => description.status = Some(String::from_utf8_lossy(value).into_owned()),
            b"FDSTORE" => description.store = value == b"1",
            b"FDSTOREREMOVE" => description.remove = value == b"1",
            b"FDNAME" => description.name = name(value),
            b"X_OSTLER_PROCESS" => description.process = number(value).filter(|pid| *pid > 0),
            b"X_OSTLER_HAND_OVER" if value.starts_with(b"/") && !value.contains(&0) => {
                description.candidate = Some(PathBuf::from(OsStr::from_bytes(value)));
                description.words.push(SupervisorMessage::Candidate);
            }
            _ => {}
        }
    }
    description
}

fn number<T: std::str::FromStr>(value: &[u8]) -> Option<T> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// A name must not contain a colon: `LISTEN_FDNAMES` is a colon-separated list.
fn name(value: &[u8]) -> Option<String> {
    let fits = !value.is_empty()
        && value.len() <= NAME_MOST
        && value.iter().all(|byte| byte.is_ascii_graphic() && *byte != b':');
    fits.then(|| String::from_utf8_lossy(value).into_owned())
}
