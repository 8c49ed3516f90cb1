//! Finding the supervisor of a home, or making one.

use crate::connection::Client;
use crate::error::ClientError;
use ostler_model::wire::{Answer, Call, Pong};
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

type Answered = Result<Answer, ClientError>;

/// Whether a supervisor may be started for this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    IfNeeded,
    Never,
}

/// Where a supervisor is, and how one is made.
#[derive(Clone, Debug)]
pub struct Place {
    pub home: PathBuf,
    /// Where it may be reached, the usual place first.
    pub sockets: Vec<PathBuf>,
    pub log: PathBuf,
    /// Our own executable.
    pub program: PathBuf,
    /// What its environment has beside ours.
    pub environment: Vec<(&'static str, OsString)>,
}

/// Who was there, or was made.
#[derive(Debug)]
pub enum Found {
    Running(Client),
    Started(Client),
}

const WAIT_SECONDS: u64 = 15;
const SILENT_MOST: u32 = 3;
const STEP: Duration = Duration::from_millis(10);
/// A supervisor that is being started again takes our call when it is there.
const PATIENCE: Duration = Duration::from_secs(5);

/// Connects to the supervisor; starts a guardian with one if nobody is there.
pub fn connect(place: &Place, start: Start) -> Result<Client, ClientError> {
    match find(place, start)? {
        Found::Running(client) | Found::Started(client) => Ok(client),
    }
}

pub fn find(place: &Place, start: Start) -> Result<Found, ClientError> {
    let call = || Ok(greet(&place.sockets, PATIENCE)?.map(|(client, _)| client));
    Ok(match reach(place, start, call)? {
        (client, Whose::Theirs) => Found::Running(client),
        (client, Whose::Ours) => Found::Started(client),
    })
}

/// The one that follows a supervisor that went away, within this time. Nobody is started for it: it may have been
/// stopped.
pub(crate) fn successor(place: &Place, within: Option<Duration>) -> Result<Client, ClientError> {
    let began_ms = ostler_os::mono_ms();
    loop {
        match connect(place, Start::Never) {
            Err(ClientError::NoAnswer { home, .. }) => {
                let seconds = (ostler_os::mono_ms() - began_ms) / 1_000;
                if within.is_some_and(|within| seconds >= within.as_secs()) {
                    return Err(ClientError::NoAnswer { home, seconds });
                }
            }
            Err(ClientError::NotRunning { home }) => {
                let boot = std::fs::read_to_string(home.join("stopped")).unwrap_or_default();
                return Err(match boot.trim() == ostler_os::boot_id() {
                    true => ClientError::Stopped { home },
                    false => ClientError::Gone { home },
                });
            }
            outcome => return Ok(outcome?.lasting(place)),
        }
    }
}

/// One question that may be put twice, and its answer; it travels with the greeting.
pub fn ask(place: &Place, start: Start, question: &Call) -> Answered {
    let call = || put(&place.sockets, question.clone(), PATIENCE);
    reach(place, start, call).and_then(|(answer, _)| answer)
}

/// Who started the supervisor that answers.
enum Whose {
    Ours,
    Theirs,
}

/// What the supervisor of this place says to our `call`.
fn reach<T>(
    place: &Place,
    start: Start,
    call: impl Fn() -> Result<Option<T>, ClientError>,
) -> Result<(T, Whose), ClientError> {
    trust(&place.home)?;
    let patient_until = ostler_os::mono_ms() + PATIENCE.as_millis() as u64;
    loop {
        if let Some(answer) = call()? {
            return Ok((answer, Whose::Theirs));
        }
        // A new supervisor could not be reached either.
        if let Some(socket) =
            place.sockets.iter().find(|socket| ostler_os::is_connect_forbidden(socket))
        {
            return Err(ClientError::Forbidden { socket: socket.clone() });
        }
        if start == Start::IfNeeded {
            break;
        }
        let home = place.home.clone();
        if !matches!(ostler_os::take_lock(&home.join("lock")), Ok(None)) {
            return Err(ClientError::NotRunning { home });
        }
        // It has an owner: the supervisor died under our call, and another is on its way.
        if ostler_os::mono_ms() >= patient_until {
            return Err(ClientError::NoAnswer { home, seconds: PATIENCE.as_secs() });
        }
        ostler_os::nap(STEP);
    }
    // Several callers may do this at once: the lock of the home decides whose guardian stays.
    let deadline = ostler_os::mono_ms() + WAIT_SECONDS * 1_000;
    let mut silent = 0;
    while ostler_os::mono_ms() < deadline {
        let whose = match launch(place)?.as_str() {
            "ready" => Whose::Ours,
            "owned" => Whose::Theirs,
            // It died without a word; the next may not, and if it does, that is said.
            "" if silent < SILENT_MOST => {
                silent += 1;
                continue;
            }
            "" => {
                let log = place.log.display();
                let report = format!("it ended without a word; its log is {log}");
                return Err(ClientError::StartFailed { report });
            }
            report => return Err(ClientError::StartFailed { report: report.to_owned() }),
        };
        // The owner may still be about to open its door, or be just closing it.
        for _ in 0..20 {
            if let Some(answer) = call()? {
                return Ok((answer, whose));
            }
            ostler_os::nap(STEP);
        }
    }
    Err(ClientError::NoAnswer { home: place.home.clone(), seconds: WAIT_SECONDS })
}

/// A folder that is not there yet is made by whoever starts the daemon.
fn trust(folder: &Path) -> Result<(), ClientError> {
    match ostler_os::trust_folder(folder) {
        Err(ostler_os::FolderRefused::Unseen { source, .. })
            if matches!(source.kind(), io::ErrorKind::NotFound) =>
        {
            Ok(())
        }
        outcome => outcome.map_err(ClientError::Untrusted),
    }
}

/// A connection to a socket of this user, in a folder that nobody else can write. Who is at the other side is known
/// before anything is sent: a request holds the caller's environment.
fn open(sockets: &[PathBuf]) -> Result<Option<Client>, ClientError> {
    let user = ostler_os::user_id();
    for socket in sockets {
        socket.parent().map_or(Ok(()), trust)?;
        let Ok(stream) = ostler_os::connect(socket) else { continue };
        let Ok(peer) = ostler_os::peer_of(&stream) else { continue };
        if peer.uid != user {
            let socket = socket.clone();
            return Err(ClientError::ForeignSocket { socket, owner: peer.uid, user });
        }
        return Client::new(stream).map(Some);
    }
    Ok(None)
}

/// A supervisor that answers in this time: one that is just going away may still take a connection, and
/// one that is dead may have left its door open for its successor.
pub fn greet(
    sockets: &[PathBuf],
    patience: Duration,
) -> Result<Option<(Client, Pong)>, ClientError> {
    Ok(open(sockets)?.and_then(|client| greeted(client, patience)))
}

fn greeted(mut client: Client, patience: Duration) -> Option<(Client, Pong)> {
    client.be_patient(Some(patience)).ok()?;
    let Ok(Answer::Pong(pong)) = client.call(Call::Ping) else { return None };
    client.be_patient(None).ok()?;
    Some((client, pong))
}

/// A greeting and a question at once; `None` if it has to be put again. Whatever is answered first shows that somebody is there.
fn put(
    sockets: &[PathBuf],
    question: Call,
    patience: Duration,
) -> Result<Option<Answered>, ClientError> {
    Ok(open(sockets)?.and_then(|client| answered(client, question, patience)))
}

fn answered(mut client: Client, question: Call, patience: Duration) -> Option<Answered> {
    client.be_patient(Some(patience)).ok()?;
    client.ask(Call::Ping).ok()?;
    client.ask(question).ok()?;
    let answer = match client.next_answer() {
        Ok(Answer::Pong(_)) => {
            client.be_patient(None).ok()?;
            client.next_answer()
        }
        answer => answer,
    };
    match answer {
        Err(ClientError::Lost(_)) => None,
        answer => Some(answer),
    }
}

/// Starts one and returns what it reports: `ready`, `owned` by another, or what went wrong.
fn launch(place: &Place) -> Result<String, ClientError> {
    let failed = |what: &Path| {
        let what = what.display().to_string();
        move |error: io::Error| ClientError::StartFailed {
            report: format!(
                "{what}: {error}; set OSTLER_HOME to a folder of yours that can be written"
            ),
        }
    };
    let Place { home, log, program, .. } = place;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(home).map_err(failed(home))?;
    let log_file =
        OpenOptions::new().create(true).append(true).mode(0o600).open(log).map_err(failed(log))?;
    let arguments = [OsStr::new("guardian"), home.as_os_str()];
    let started = ostler_os::start_background(program, &arguments, &place.environment, log_file)
        .map_err(failed(program))?;
    Ok(started.report().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixListener;

    const PONG: &str = r#"{"id":1,"ok":{"kind":"pong","value":{"version":"1","pid":1,"home":"/","startedAtMs":0,"live":0,"guardian":null,"wentBack":null}}}
"#;
    const NOTHING: &str = r#"{"id":2,"ok":{"kind":"metrics","value":[]}}
"#;
    const NO: &str = r#"{"id":0,"error":{"code":"INVALID_REQUEST","message":"not yours"}}
"#;

    const HALF: &str = r#"{"id":2,"ok":{"kind":"metr"#;

    /// What is heard from a door at which each caller in turn is told these lines, and then no more.
    fn told(callers: &'static [&'static [&'static str]]) -> Answered {
        let home = tempfile::tempdir().expect("a folder");
        let socket = home.path().join("ostler.sock");
        let door = UnixListener::bind(&socket).expect("a door");
        let place = Place {
            home: home.path().to_owned(),
            sockets: vec![socket],
            log: home.path().join("log"),
            program: "/nonexistent/ostler".into(),
            environment: Vec::new(),
        };
        // Whose supervisor died has an owner still.
        let owner = ostler_os::take_lock(&home.path().join("lock")).expect("a lock");
        std::thread::spawn(move || {
            for lines in callers {
                let (stream, _) = door.accept().expect("a caller");
                let mut asked = BufReader::new(stream.try_clone().expect("a stream")).lines();
                for _ in 0..2 {
                    asked.next().expect("a question").expect("a line");
                }
                for line in *lines {
                    write!(&stream, "{line}").expect("a listener");
                }
            }
        });
        let answer = ask(&place, Start::Never, &Call::Metrics);
        drop(owner);
        answer
    }

    #[test]
    fn a_question_travels_with_the_greeting() {
        assert!(matches!(told(&[&[PONG, NOTHING]]), Ok(Answer::Metrics(_))));
    }

    #[test]
    fn an_answer_may_come_before_the_greeting_is_answered() {
        assert!(matches!(told(&[&[NOTHING, PONG]]), Ok(Answer::Metrics(_))));
    }

    #[test]
    fn a_question_is_put_again_to_the_successor_of_one_that_died_over_it() {
        assert!(matches!(
            told(&[&[PONG], &[], &[PONG, HALF], &[PONG, NOTHING]]),
            Ok(Answer::Metrics(_))
        ));
    }

    #[test]
    fn a_refusal_is_passed_on() {
        assert!(matches!(told(&[&[NO]]), Err(ClientError::Refused(_))));
    }
}
