//! One connection to the control socket. Requests are answered when they are done, not in order, so that one
//! connection can send many at once. `conn_limits` limits their number and memory: above a limit, the connection is
//! not read.

use crate::conn_limits::{ConnPermit, LARGE, LINE_PART, LINE_SHORT, Line};
use crate::find::{bad_params, error};
use crate::handlers::{Follower, Given, cost_of, dispatch, follow};
use crate::server::Shared;
use crate::{view, write_stream};
use ostler_model::{Actor, Entry};
use ostler_ops::wire::{ErrorCode, MAX_LINE, Request, WireError, response_line};
use ostler_ops::{Cost, Operation, journal, runs};
use serde::Serialize;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;

/// The time for pending answers after the caller has closed its end.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// The time limit for the rest of a long request.
const LONG_LINE_MOST: Duration = Duration::from_secs(10);

pub(crate) type Reading = BufReader<OwnedReadHalf>;
pub(crate) type Writing = Rc<Line>;

/// An accepted connection.
pub(crate) struct Admitted {
    stream: UnixStream,
    by: Actor,
    permit: ConnPermit,
}

/// Checks the peer before a task is started, so that a refused connection costs little.
pub(crate) fn admit(stream: UnixStream, shared: &Shared) -> Option<Admitted> {
    let peer = ostler_os::peer_of(&stream).ok()?;
    let user = ostler_os::user_id();
    if peer.uid != user && peer.uid != 0 {
        let description =
            format!("this supervisor belongs to uid {user}; you are uid {}", peer.uid);
        refuse(&stream, error(ErrorCode::InvalidRequest, description));
        return None;
    }
    match shared.callers.enter(peer.pid, &stream) {
        Ok(permit) => {
            Some(Admitted { stream, by: Actor::Caller { uid: peer.uid, pid: peer.pid }, permit })
        }
        Err(description) => {
            refuse(&stream, error(ErrorCode::Busy, description));
            None
        }
    }
}

pub(crate) async fn serve(Admitted { stream, by, permit }: Admitted, shared: Rc<Shared>) {
    let (read, write) = stream.into_split();
    let slot = Rc::clone(&permit.slot);
    let connection = Connection {
        by,
        reading: BufReader::with_capacity(4 << 10, read),
        writing: Line::new(write, Rc::clone(&slot)),
        tasks: JoinSet::new(),
        shared,
    };
    tokio::select! {
        () = connection.talk() => {}
        () = slot.asked_to_leave() => {}
    }
    drop(permit);
}

/// Sends a refusal. The socket's buffer is still empty, so this does not block.
fn refuse(stream: &UnixStream, refusal: WireError) {
    let _ = stream.try_write(&response_line::<()>(0, &Err(refusal)));
}

struct Connection {
    by: Actor,
    reading: Reading,
    writing: Writing,
    tasks: JoinSet<()>,
    shared: Rc<Shared>,
}

impl Connection {
    async fn talk(mut self) {
        let mut line = Vec::new();
        loop {
            line.clear();
            line.shrink_to(LINE_SHORT);
            let long =
                match read_line(&mut self.reading, &mut line, &self.writing, &self.shared).await {
                    Ok(Some(long)) => long,
                    Ok(None) => break,
                    Err(refusal) => {
                        let _ = respond::<()>(&self.writing, 0, &Err(refusal)).await;
                        break;
                    }
                };
            let then = match serde_json::from_slice(&line) {
                Ok(request) => self.take(&request, long).await,
                Err(bad) => self.refuse(&line, &bad).await,
            };
            if then == Then::Close {
                break;
            }
            while self.tasks.try_join_next().is_some() {}
            let pause = self.writing.slot.process.count_request();
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
        }
        // The caller sends nothing more. Answers that need no time are still sent. A caller that waits for a run must
        // keep its connection open: otherwise it would hold a descriptor until that run ends.
        let _ = tokio::time::timeout(LAST_ANSWERS, async {
            while self.tasks.join_next().await.is_some() {}
        })
        .await;
    }

    /// Answers a line that is not a valid request.
    async fn refuse(&self, line: &[u8], bad: &serde_json::Error) -> Then {
        let id = serde_json::from_slice::<serde_json::Value>(line)
            .ok()
            .and_then(|value| value.get("id")?.as_u64())
            .unwrap_or(0);
        let refusal = error(ErrorCode::InvalidRequest, format!("invalid request: {bad}"));
        Then::from(respond::<()>(&self.writing, id, &Err(refusal)).await)
    }

    async fn take(&mut self, request: &Request<'_>, long: LargeRequest) -> Then {
        // A stream uses the connection: frames or a series of responses follow.
        match &*request.method {
            runs::View::NAME => {
                let Some(call) = self.read::<runs::View>(request).await else { return Then::Go };
                let _busy = self.writing.slot.busy();
                view::serve(request.id, call, &self.shared, &mut self.reading, &self.writing).await;
                Then::Go
            }
            runs::Write::NAME => {
                let Some(call) = self.read::<runs::Write>(request).await else { return Then::Go };
                let _busy = self.writing.slot.busy();
                let (id, run) = (request.id, call.run);
                let written =
                    write_stream::serve(id, &run, &self.shared, &mut self.reading, &self.writing)
                        .await;
                Then::from(respond(&self.writing, id, &written).await)
            }
            journal::Follow::NAME => {
                let Some(call) = self.read::<journal::Follow>(request).await else {
                    return Then::Go;
                };
                let _busy = self.writing.slot.busy();
                let follower = SocketFollower {
                    id: request.id,
                    reading: &mut self.reading,
                    writing: &self.writing,
                };
                follow(call, &self.shared, follower).await;
                Then::Close
            }
            _ => {
                self.carry_out(request, long).await;
                Then::Go
            }
        }
    }

    /// Parses the parameters of a stream; sends a refusal if they are invalid.
    async fn read<O: Operation>(&self, request: &Request<'_>) -> Option<O> {
        match request.read() {
            Ok(operation) => Some(operation),
            Err(bad) => {
                let refusal = bad_params(O::NAME, &bad);
                let _ = respond::<()>(&self.writing, request.id, &Err(refusal)).await;
                None
            }
        }
    }

    /// Runs the request concurrently with the caller's other requests.
    async fn carry_out(&mut self, request: &Request<'_>, long: LargeRequest) {
        let slot = &self.writing.slot;
        let process = Rc::clone(&slot.process);
        let cost = cost_of(&request.method);
        let made = dispatch(request, self.by.clone(), Rc::clone(&self.shared));
        let budget = match cost {
            Cost::Quick | Cost::Large => &process.quick,
            Cost::Waiting => &process.waiting,
        };
        // The connection is not read until the budget has a permit.
        let permit = Arc::clone(budget).acquire_owned().await;
        let busy = slot.busy();
        let (shared, writing) = (Rc::clone(&self.shared), Rc::clone(&self.writing));
        self.tasks.spawn_local(async move {
            let _held = (permit, busy, long);
            let _on_its_way = shared.answering();
            respond_when_made(made, cost, &shared, &writing).await;
        });
    }
}

/// A caller that follows the journal on its connection.
struct SocketFollower<'a> {
    id: u64,
    reading: &'a mut Reading,
    writing: &'a Writing,
}

impl Follower for SocketFollower<'_> {
    async fn give(&mut self, entries: Result<Vec<Entry>, WireError>) -> Given {
        match respond(self.writing, self.id, &entries).await {
            Ok(()) => Given::Go,
            Err(_) => Given::Gone,
        }
    }

    /// It sends nothing more, so whatever arrives is the end.
    async fn gone(&mut self) {
        let _ = self.reading.read(&mut [0]).await;
    }
}

/// Whether to continue reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Go,
    Close,
}

impl From<std::io::Result<()>> for Then {
    fn from(written: std::io::Result<()>) -> Self {
        if written.is_ok() { Then::Go } else { Then::Close }
    }
}

async fn respond_when_made(
    made: impl Future<Output = Vec<u8>>,
    cost: Cost,
    shared: &Shared,
    writing: &Writing,
) {
    let process = &writing.slot.process;
    let large = match cost {
        Cost::Large => process.large.acquire().await.ok(),
        Cost::Quick | Cost::Waiting => None,
    };
    let line = {
        let _making = match cost {
            Cost::Large => shared.callers.make_large().await,
            Cost::Quick | Cost::Waiting => None,
        };
        made.await
    };
    let _queued = match line.len() > LARGE {
        true => Some(shared.callers.queue(&writing.slot, line.len()).await),
        false => None,
    };
    let _ = writing.send(&line).await;
    drop(large);
}

/// The budget that a long request holds until it is answered.
#[derive(Default)]
struct LargeRequest(Vec<OwnedSemaphorePermit>);

/// Returns `None` at the end of the stream.
async fn read_line(
    reading: &mut Reading,
    line: &mut Vec<u8>,
    writing: &Writing,
    shared: &Shared,
) -> Result<Option<LargeRequest>, WireError> {
    if let Some(is_whole) = read_up_to(reading, line, LINE_SHORT).await {
        return Ok(is_whole.then(LargeRequest::default));
    }
    // From here on, the request uses the shared budget.
    let held = Arc::clone(&writing.slot.process.long).acquire_owned().await;
    let mut long = LargeRequest(held.into_iter().collect());
    let rest = async {
        while line.len() <= MAX_LINE {
            long.0.extend(shared.callers.line_part().await);
            let most = (line.len() + LINE_PART).min(MAX_LINE + 1);
            if let Some(is_whole) = read_up_to(reading, line, most).await {
                return Ok(is_whole);
            }
        }
        let description = format!(
            "the request has more than {MAX_LINE} bytes; arguments and environment are too long"
        );
        Err(error(ErrorCode::InvalidRequest, description))
    };
    let is_whole = tokio::time::timeout(LONG_LINE_MOST, rest).await.unwrap_or_else(|_| {
        let seconds = LONG_LINE_MOST.as_secs();
        let description = format!("the end of a long request did not arrive within {seconds} s");
        Err(error(ErrorCode::InvalidRequest, description))
    })?;
    Ok(is_whole.then_some(long))
}

/// True for a complete line, false for the end of the stream; `None` if `most` bytes contain neither.
async fn read_up_to(reading: &mut Reading, line: &mut Vec<u8>, most: usize) -> Option<bool> {
    let limit = most.saturating_sub(line.len()) as u64;
    match reading.take(limit).read_until(b'\n', line).await {
        Err(_) | Ok(0) => Some(false),
        Ok(_) if line.last() == Some(&b'\n') => Some(true),
        Ok(_) if line.len() >= most => None,
        Ok(_) => Some(false),
    }
}

pub(crate) async fn respond<R: Serialize>(
    writing: &Writing,
    id: u64,
    outcome: &Result<R, WireError>,
) -> std::io::Result<()> {
    writing.send(&response_line(id, outcome)).await
}
