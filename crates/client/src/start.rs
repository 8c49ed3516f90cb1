//! Finds the supervisor of a home, or starts one.

use crate::connection::{Client, response};
use crate::error::ClientError;
use crate::halted::halted;
use ostler_ops::Operation;
use ostler_ops::daemon::{Ping, Pong};
use ostler_ops::wire::{ErrorCode, Response, WireError};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The response line, or the error.
type Answered = Result<Vec<u8>, ClientError>;
/// Sends a request and returns its id.
type SendRequest<'a> = &'a dyn Fn(&mut Client) -> Result<u64, ClientError>;

/// Whether a supervisor may be started for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    IfNeeded,
    Never,
}

/// The paths of a home, and how to start its supervisor.
#[derive(Clone, Debug)]
pub struct HomePaths {
    pub home: PathBuf,
    /// The possible sockets; the usual one is first.
    pub sockets: Vec<PathBuf>,
    pub log: PathBuf,
    /// The path of the `ostler` executable.
    pub program: PathBuf,
    /// Additional environment variables.
    pub environment: Vec<(&'static str, OsString)>,
    /// Called with the version of each supervisor that answers.
    pub met: fn(&str),
    /// Called with the reason if the daemon does not answer because it is stopped.
    pub waiting: fn(&str),
}

/// Whether the supervisor was running or was started.
#[derive(Debug)]
pub enum Found {
    Running(Client),
    Started(Client),
}

const WAIT_SECONDS: u64 = 15;
const SILENT_MOST: u32 = 3;
const STEP: Duration = Duration::from_millis(10);
/// A supervisor that is being restarted answers within this time.
const PATIENCE: Duration = Duration::from_secs(5);
/// A supervisor that is silent for longer is looked at.
const SILENT: Duration = Duration::from_secs(2);

/// Connects to the supervisor; starts a guardian and a supervisor if none is running.
pub fn connect(place: &HomePaths, start: Start) -> Result<Client, ClientError> {
    match find(place, start)? {
        Found::Running(client) | Found::Started(client) => Ok(client),
    }
}

pub fn find(place: &HomePaths, start: Start) -> Result<Found, ClientError> {
    let refusal = Cell::new(None);
    let call = || {
        Ok(match try_greet(&place.sockets, PATIENCE, &|| report_halted(place))? {
            Greeting::Answered(greeted) => {
                (place.met)(&greeted.1.version);
                Some(greeted.0)
            }
            Greeting::Refused(refused) => {
                refusal.set(Some(refused));
                None
            }
            Greeting::Silent => None,
        })
    };
    Ok(match reach(place, start, call).map_err(|error| or_refusal(error, &refusal))? {
        (client, StartedBy::Theirs) => Found::Running(client),
        (client, StartedBy::Ours) => Found::Started(client),
    })
}

/// Connects to the successor of a supervisor that ended, within this time. It starts none, because the daemon may have
/// been stopped.
pub(crate) fn successor(
    place: &HomePaths,
    within: Option<Duration>,
) -> Result<Client, ClientError> {
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
            outcome => return Ok(outcome?.reconnecting(place)),
        }
    }
}

/// How often a request is sent again after a supervisor ended while it answered. The request itself may be the cause,
/// and each further crash delays the restart of the supervised programs.
pub const RESENDS_MOST: u32 = 1;

/// Sends one request that may be repeated, and returns its response. The request is sent together with the greeting. A
/// successor gets the request only after it has answered the greeting.
pub fn ask<O: Operation>(
    place: &HomePaths,
    start: Start,
    operation: &O,
) -> Result<O::Response, ClientError> {
    response(&ask_line(place, start, &|client| client.ask(operation))?)
}

fn ask_line(place: &HomePaths, start: Start, question: SendRequest<'_>) -> Answered {
    let (deaths, refusal) = (Cell::new(0), Cell::new(None));
    let call = || {
        let put = match deaths.get() {
            0 => put(place, question, PATIENCE)?,
            _ => put_after_greeting(&place.sockets, question, PATIENCE)?,
        };
        Ok(match put {
            RequestOutcome::Answered(answer) => match busy(&answer) {
                Some(busy) => {
                    refusal.set(Some(busy));
                    None
                }
                None => Some(answer),
            },
            RequestOutcome::NotSent => None,
            RequestOutcome::Lost => {
                deaths.set(deaths.get() + 1);
                let home = place.home.clone();
                let deadly = ClientError::Deadly { home, deaths: deaths.get() };
                (deaths.get() > RESENDS_MOST).then_some(Err(deadly))
            }
        })
    };
    let reached = reach(place, start, call).map_err(|error| or_refusal(error, &refusal));
    reached.and_then(|(answer, _)| answer)
}

/// The refusal of a supervisor that has too many connections.
fn busy(answer: &Answered) -> Option<WireError> {
    const REFUSAL_MOST: usize = 4 << 10;
    let line = answer.as_ref().ok().filter(|line| line.len() <= REFUSAL_MOST)?;
    match response::<IgnoredAny>(line) {
        Err(ClientError::Refused(refusal)) if refusal.code == ErrorCode::Busy => Some(refusal),
        Ok(_) | Err(_) => None,
    }
}

/// A refusal explains more than a timeout.
fn or_refusal(error: ClientError, refusal: &Cell<Option<WireError>>) -> ClientError {
    match (error, refusal.take()) {
        (ClientError::NoAnswer { .. }, Some(refusal)) => ClientError::Refused(refusal),
        (error, _) => error,
    }
}

/// The outcome of a request.
enum RequestOutcome {
    Answered(Answered),
    /// No supervisor received it.
    NotSent,
    /// It was sent, and the connection ended before the answer.
    Lost,
}

/// Who started the supervisor that answers.
enum StartedBy {
    Ours,
    Theirs,
}

/// Runs `call` until a supervisor answers; starts one if allowed.
fn reach<T>(
    place: &HomePaths,
    start: Start,
    call: impl Fn() -> Result<Option<T>, ClientError>,
) -> Result<(T, StartedBy), ClientError> {
    trust(&place.home)?;
    // A stopped guardian replaces no supervisor, so more patience does not help.
    let call = || {
        let began_ms = ostler_os::mono_ms();
        let answer = call()?;
        let is_silent =
            answer.is_none() && ostler_os::mono_ms() - began_ms >= SILENT.as_millis() as u64;
        let halted = if is_silent { halted(&place.home) } else { None };
        match halted.filter(|halted| halted.is_final) {
            Some(halted) => {
                Err(ClientError::Halted { home: place.home.clone(), why: halted.description })
            }
            None => Ok(answer),
        }
    };
    let patient_until = ostler_os::mono_ms() + PATIENCE.as_millis() as u64;
    loop {
        if let Some(answer) = call()? {
            return Ok((answer, StartedBy::Theirs));
        }
        if start == Start::IfNeeded {
            break;
        }
        let home = place.home.clone();
        if !matches!(ostler_os::take_lock(&home.join("lock")), Ok(None)) {
            return Err(ClientError::NotRunning { home });
        }
        // A guardian holds the lock: the supervisor ended during the call, and a new one is starting.
        if ostler_os::mono_ms() >= patient_until {
            return Err(ClientError::NoAnswer { home, seconds: PATIENCE.as_secs() });
        }
        ostler_os::nap(STEP);
    }
    // Several clients may do this at the same time; the home's lock decides which guardian stays.
    let deadline = ostler_os::mono_ms() + WAIT_SECONDS * 1_000;
    let mut silent = 0;
    while ostler_os::mono_ms() < deadline {
        let started_by = match launch(place)?.as_str() {
            "ready" => StartedBy::Ours,
            "owned" => StartedBy::Theirs,
            // It ended without a report; try again, and report the failure if it happens again.
            "" if silent < SILENT_MOST => {
                silent += 1;
                continue;
            }
            "" => {
                let log = place.log.display();
                let report = format!("it ended without an error message; its log is {log}");
                return Err(ClientError::StartFailed { report });
            }
            report => return Err(ClientError::StartFailed { report: report.to_owned() }),
        };
        // The owner may be about to open its socket, or to close it.
        for _ in 0..20 {
            if let Some(answer) = call()? {
                return Ok((answer, started_by));
            }
            if ostler_os::mono_ms() >= deadline {
                break;
            }
            ostler_os::nap(STEP);
        }
    }
    Err(ClientError::NoAnswer { home: place.home.clone(), seconds: WAIT_SECONDS })
}

/// If the folder does not exist, the daemon creates it.
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

/// Connects to a socket of this user, in a folder that only this user can write. The peer is checked before anything
/// is sent, because a request contains the caller's environment.
fn open(sockets: &[PathBuf]) -> Result<Option<Client>, ClientError> {
    let user = ostler_os::user_id();
    for socket in sockets {
        socket.parent().map_or(Ok(()), trust)?;
        let stream = match ostler_os::connect(socket) {
            Ok(stream) => stream,
            // A new supervisor could not be reached either.
            Err(error) if ostler_os::is_forbidden(&error) => {
                return Err(ClientError::Forbidden { socket: socket.clone() });
            }
            Err(_) => continue,
        };
        let Ok(peer) = ostler_os::peer_of(&stream) else { continue };
        if peer.uid != user {
            let socket = socket.clone();
            return Err(ClientError::ForeignSocket { socket, owner: peer.uid, user });
        }
        return Client::new(stream).map(Some);
    }
    Ok(None)
}

/// Returns a supervisor that answers within this time. One that is ending may still accept a connection, and one that
/// has ended may have left its socket open for its successor.
pub fn greet(
    sockets: &[PathBuf],
    patience: Duration,
) -> Result<Option<(Client, Pong)>, ClientError> {
    Ok(match try_greet(sockets, patience, &|| ())? {
        Greeting::Answered(greeted) => Some(*greeted),
        Greeting::Refused(_) | Greeting::Silent => None,
    })
}

/// The outcome of a greeting.
enum Greeting {
    Answered(Box<(Client, Pong)>),
    Refused(WireError),
    Silent,
}

fn try_greet(
    sockets: &[PathBuf],
    patience: Duration,
    silent: &dyn Fn(),
) -> Result<Greeting, ClientError> {
    let Some(mut client) = open(sockets)? else { return Ok(Greeting::Silent) };
    let heard = client.be_patient(Some(patience)).and_then(|()| {
        client.ask(&Ping::ours())?;
        be_heard(&mut client, patience, silent)?;
        client.next_response()
    });
    Ok(match heard {
        Ok(pong) if client.be_patient(None).is_ok() => Greeting::Answered(Box::new((client, pong))),
        Err(ClientError::Refused(refusal)) => Greeting::Refused(refusal),
        Ok(_) | Err(_) => Greeting::Silent,
    })
}

/// Sends a greeting and a request together. The first answer shows that a supervisor is there.
fn put(
    place: &HomePaths,
    question: SendRequest<'_>,
    patience: Duration,
) -> Result<RequestOutcome, ClientError> {
    let Some(mut client) = open(&place.sockets)? else { return Ok(RequestOutcome::NotSent) };
    let greeting = client.be_patient(Some(patience)).and_then(|()| client.ask(&Ping::ours()));
    let Ok(greeting) = greeting else { return Ok(RequestOutcome::NotSent) };
    if let Err(error) = question(&mut client) {
        return Ok(judged(Err(error)));
    }
    be_heard(&mut client, patience, &|| report_halted(place))?;
    let first = client.next_line();
    match first.as_ref().ok().and_then(|line| greeted(line, greeting)) {
        Some(version) => {
            (place.met)(&version);
            let _ = client.be_patient(None);
            Ok(judged(client.next_line()))
        }
        None => Ok(judged(first)),
    }
}

/// Waits for the beginning of the answer. Calls `silent` if there is none for a while, and waits on.
fn be_heard(client: &mut Client, patience: Duration, silent: &dyn Fn()) -> Result<(), ClientError> {
    let rest = patience.saturating_sub(SILENT);
    if patience > SILENT && client.is_silent_for(SILENT)? {
        silent();
        return client.be_patient(Some(rest));
    }
    client.be_patient(Some(patience))
}

fn report_halted(place: &HomePaths) {
    if let Some(halted) = halted(&place.home) {
        (place.waiting)(&halted.description);
    }
}

/// The supervisor's version, if the line is the answer to the greeting.
fn greeted(line: &[u8], greeting: u64) -> Option<String> {
    #[derive(Deserialize)]
    struct Greeted {
        version: String,
    }
    let read: Response<Greeted> = serde_json::from_slice(line).ok()?;
    read.ok.filter(|_| read.id == greeting).map(|greeted| greeted.version)
}

/// Sends the request after the greeting is answered.
fn put_after_greeting(
    sockets: &[PathBuf],
    question: SendRequest<'_>,
    patience: Duration,
) -> Result<RequestOutcome, ClientError> {
    Ok(match greet(sockets, patience)? {
        Some((mut client, _)) => {
            let asked = question(&mut client);
            judged(asked.and_then(|_| client.next_line()))
        }
        None => RequestOutcome::NotSent,
    })
}

fn judged(answer: Answered) -> RequestOutcome {
    match answer {
        Err(ClientError::Lost(_)) => RequestOutcome::Lost,
        answer => RequestOutcome::Answered(answer),
    }
}

/// Starts a guardian and returns its report: `ready`, `owned` by another guardian, or an error.
fn launch(place: &HomePaths) -> Result<String, ClientError> {
    let failed = |what: &Path| {
        let what = what.display().to_string();
        move |error: io::Error| ClientError::StartFailed {
            report: format!("{what}: {error}; set OSTLER_HOME to a folder that you can write"),
        }
    };
    let HomePaths { home, log, program, .. } = place;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(home).map_err(failed(home))?;
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600);
    // A FIFO in its place is an error, not a wait for its reader.
    let log_file = options.custom_flags(ostler_os::NONBLOCK).open(log).map_err(failed(log))?;
    let arguments = [OsStr::new("guardian"), home.as_os_str()];
    let started = ostler_os::start_background(program, &arguments, &place.environment, log_file)
        .map_err(failed(program))?;
    Ok(started.report().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_model::Sample;
    use ostler_ops::daemon::Metrics;
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixListener;

    const PONG: &str = r#"{"id":1,"ok":{"version":"1","pid":1,"home":"/","startedAtMs":0,"live":0,"guardian":null,"wentBack":null}}
"#;
    const NOTHING: &str = r#"{"id":2,"ok":[]}
"#;
    const NO: &str = r#"{"id":0,"error":{"code":"INVALID_REQUEST","message":"not yours"}}
"#;

    thread_local! {
        static MET: Cell<u32> = const { Cell::new(0) };
    }

    const HALF: &str = r#"{"id":2,"ok":[{"na"#;

    /// The client's result if the server sends these lines to each connection in turn, and then closes it.
    fn description(
        callers: &'static [&'static [&'static str]],
    ) -> Result<Vec<Sample>, ClientError> {
        let home = tempfile::tempdir().expect("a folder");
        let socket = home.path().join("ostler.sock");
        let listener = UnixListener::bind(&socket).expect("a socket");
        let place = HomePaths {
            home: home.path().to_owned(),
            sockets: vec![socket],
            log: home.path().join("log"),
            program: "/nonexistent/ostler".into(),
            environment: Vec::new(),
            met: |version| {
                assert_eq!(version, "1");
                MET.with(|met| met.set(met.get() + 1));
            },
            waiting: |_| (),
        };
        // The guardian still holds the lock, so the home is not free.
        let owner = ostler_os::take_lock(&home.path().join("lock")).expect("a lock");
        std::thread::spawn(move || {
            for lines in callers {
                let (stream, _) = listener.accept().expect("a connection");
                let mut asked = BufReader::new(stream.try_clone().expect("a stream")).lines();
                for line in *lines {
                    // A successor gets the greeting before the request.
                    asked.next().expect("a request").expect("a line");
                    write!(&stream, "{line}").expect("a listener");
                }
            }
        });
        let answer = ask(&place, Start::Never, &Metrics {});
        drop(owner);
        answer
    }

    #[test]
    fn the_first_request_is_sent_with_the_greeting() {
        assert!(description(&[&[PONG, NOTHING]]).is_ok());
        assert_eq!(MET.get(), 1, "its version is passed on");
    }

    #[test]
    fn an_answer_may_come_before_the_greeting_is_answered() {
        assert!(description(&[&[NOTHING, PONG]]).is_ok());
    }

    #[test]
    fn a_request_is_sent_once_more_to_the_successor_of_one_that_ended_over_it() {
        assert!(description(&[&[PONG], &[PONG, NOTHING]]).is_ok());
        // A supervisor that ends at the greeting did not get the request.
        assert!(description(&[&[PONG], &[], &[], &[PONG, NOTHING]]).is_ok());
    }

    #[test]
    fn a_request_over_which_two_supervisors_ended_is_not_sent_to_a_third() {
        let description = description(&[&[PONG, HALF], &[PONG, HALF], &[PONG, NOTHING]]);
        assert!(
            matches!(description, Err(ClientError::Deadly { deaths: 2, .. })),
            "{description:?}"
        );
    }

    #[test]
    fn a_refusal_is_passed_on() {
        assert!(matches!(description(&[&[NO]]), Err(ClientError::Refused(_))));
    }
}
