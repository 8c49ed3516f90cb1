//! One caller. Requests are answered as they are done, not in the order they came, so that one
//! connection can ask for many things at once. How many, and how much of it is kept in memory, has bounds
//! (`callers`): beyond them the connection is not read any further.

use crate::callers::{LARGE, LINE_PART, LINE_SHORT, Line, Place};
use crate::find::{current, error, find, registry_error};
use crate::frames::{Frames, Stop};
use crate::kinds::{Kind, kind};
use crate::server::Shared;
use crate::{agents, journal, looks, mail, patrol, screen, typing, view};
use ostler_engine::{
    Cancelled, Canceller, Declaration, HandOver, NotKept, PoolRefused, SessionRefused,
    SpawnRefused, UnitAsk, Until,
};
use ostler_model::wire;
use ostler_model::wire::{
    Answer, AwaitUntil, Call, CancelAnswer, CancelCall, DeclareCall, ErrorCode, FrameKind,
    MAX_LINE, Outcome, Pong, Request, Response, RunFilter, ShutdownAnswer, UnitsCall, WireError,
};
use ostler_model::{
    Actor, AgentSessionCall, Limits, Part, RunId, RunRecord, RunResult, RunSpec, RunState, Sample,
    TerminalSize, UnitView,
};
use ostler_registry::RunQuery;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;

/// How long answers that are on their way may take once the caller has hung up.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// How long the rest of a long request may take to come.
const LONG_LINE_MOST: Duration = Duration::from_secs(10);

pub(crate) type Reading = BufReader<OwnedReadHalf>;
pub(crate) type Writing = Rc<Line>;

/// Whoever is let in; the others have been told why not.
pub(crate) struct Admitted {
    stream: UnixStream,
    by: Actor,
    place: Place,
}

/// Done where connections are accepted: one that is refused costs next to nothing.
pub(crate) fn admit(stream: UnixStream, shared: &Shared) -> Option<Admitted> {
    let peer = ostler_os::peer_of(&stream).ok()?;
    let user = ostler_os::user_id();
    if peer.uid != user && peer.uid != 0 {
        let told = format!("this supervisor is uid {user}'s; you are uid {}", peer.uid);
        refuse(&stream, error(ErrorCode::InvalidRequest, told));
        return None;
    }
    match shared.callers.enter(peer.pid, &stream) {
        Ok(place) => {
            Some(Admitted { stream, by: Actor::Caller { uid: peer.uid, pid: peer.pid }, place })
        }
        Err(told) => {
            refuse(&stream, error(ErrorCode::Busy, told));
            None
        }
    }
}

pub(crate) async fn serve(Admitted { stream, by, place }: Admitted, shared: Rc<Shared>) {
    let (read, write) = stream.into_split();
    let seat = Rc::clone(&place.seat);
    let connection = Connection {
        by,
        reading: BufReader::with_capacity(4 << 10, read),
        writing: Line::new(write, Rc::clone(&seat)),
        tasks: JoinSet::new(),
        shared,
    };
    tokio::select! {
        () = connection.talk() => {}
        () = seat.asked_to_leave() => {}
    }
    drop(place);
}

/// To somebody who does not get in: there is nothing in its buffer yet, so this does not wait.
fn refuse(stream: &UnixStream, refusal: WireError) {
    let _ = stream.try_write(&line_of(0, Outcome::Error(refusal)));
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
                        let _ = answer(&self.writing, 0, Outcome::Error(refusal)).await;
                        break;
                    }
                };
            let request: Request = match serde_json::from_slice(&line) {
                Ok(request) => request,
                Err(bad) => {
                    let id = serde_json::from_slice::<serde_json::Value>(&line)
                        .ok()
                        .and_then(|value| value.get("id")?.as_u64())
                        .unwrap_or(0);
                    let told = format!("not a request: {bad}");
                    let refusal = error(ErrorCode::InvalidRequest, told);
                    if answer(&self.writing, id, Outcome::Error(refusal)).await.is_err() {
                        break;
                    }
                    continue;
                }
            };
            if self.take(request, long).await == Then::Close {
                break;
            }
            while self.tasks.try_join_next().is_some() {}
            let pause = self.writing.seat.process.count_request();
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
        }
        // The caller has gone, or has said all it wants to say: what takes no time is still answered. Who waits
        // for a run stays on the line; a waiter that has gone must not cost a descriptor until that run ends.
        let _ = tokio::time::timeout(LAST_ANSWERS, async {
            while self.tasks.join_next().await.is_some() {}
        })
        .await;
    }

    async fn take(&mut self, request: Request, long: Long) -> Then {
        let (id, shared, writing) = (request.id, &self.shared, &self.writing);
        let seat = &writing.seat;
        // The first three take the connection over: what follows is frames.
        match request.call {
            Call::View(call) => {
                let _busy = seat.busy();
                view::serve(id, call, shared, &mut self.reading, writing).await;
                Then::Go
            }
            Call::Write(target) => {
                let _busy = seat.busy();
                let run = &target.run;
                let outcome = take_input(id, run, shared, &mut self.reading, writing).await;
                match answer(writing, id, outcome).await {
                    Ok(()) => Then::Go,
                    Err(_) => Then::Close,
                }
            }
            Call::Entries(filter) if filter.follow => {
                let _busy = seat.busy();
                journal::follow(id, filter, shared, &mut self.reading, writing).await;
                Then::Close
            }
            call => {
                let process = Rc::clone(&seat.process);
                let kind = kind(&call);
                let room = match kind {
                    Kind::Quick | Kind::Large => &process.quick,
                    Kind::Waiting => &process.waiting,
                };
                // Nothing more is read of it until there is room.
                let room = Arc::clone(room).acquire_owned().await;
                let busy = seat.busy();
                let (shared, writing) = (Rc::clone(shared), Rc::clone(writing));
                let by = self.by.clone();
                self.tasks.spawn_local(async move {
                    let _held = (room, busy, long);
                    let _on_its_way = shared.answering();
                    carry_out_and_answer(id, call, kind, by, &shared, &writing).await;
                });
                Then::Go
            }
        }
    }
}

/// Whether more is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Go,
    Close,
}

async fn carry_out_and_answer(
    id: u64,
    call: Call,
    kind: Kind,
    by: Actor,
    shared: &Shared,
    writing: &Writing,
) {
    let process = &writing.seat.process;
    let large = match kind {
        Kind::Large => process.large.acquire().await.ok(),
        Kind::Quick | Kind::Waiting => None,
    };
    let line = {
        let _making = match kind {
            Kind::Large => shared.callers.make_large().await,
            Kind::Quick | Kind::Waiting => None,
        };
        let outcome = match carry_out(call, by, shared).await {
            Ok(done) => Outcome::Ok(done),
            Err(refusal) => Outcome::Error(refusal),
        };
        line_of(id, outcome)
    };
    let _queued = match line.len() > LARGE {
        true => Some(shared.callers.queue(&writing.seat, line.len()).await),
        false => None,
    };
    let _ = writing.send(&line).await;
    drop(large);
}

/// What a long request holds until it has been answered.
#[derive(Default)]
struct Long(Vec<OwnedSemaphorePermit>);

/// `None` at the end of the stream.
async fn read_line(
    reading: &mut Reading,
    line: &mut Vec<u8>,
    writing: &Writing,
    shared: &Shared,
) -> Result<Option<Long>, WireError> {
    if let Some(is_whole) = read_up_to(reading, line, LINE_SHORT).await {
        return Ok(is_whole.then(Long::default));
    }
    // From here on it takes memory that all share.
    let held = Arc::clone(&writing.seat.process.long).acquire_owned().await;
    let mut long = Long(held.into_iter().collect());
    let rest = async {
        while line.len() <= MAX_LINE {
            long.0.extend(shared.callers.line_part().await);
            let most = (line.len() + LINE_PART).min(MAX_LINE + 1);
            if let Some(is_whole) = read_up_to(reading, line, most).await {
                return Ok(is_whole);
            }
        }
        let told = format!(
            "a request of more than {MAX_LINE} bytes; arguments and environment are too long"
        );
        Err(error(ErrorCode::InvalidRequest, told))
    };
    let is_whole = tokio::time::timeout(LONG_LINE_MOST, rest).await.unwrap_or_else(|_| {
        let seconds = LONG_LINE_MOST.as_secs();
        let told = format!("a long request that did not come to its end within {seconds} s");
        Err(error(ErrorCode::InvalidRequest, told))
    })?;
    Ok(is_whole.then_some(long))
}

/// Whether there is a whole line, or the end of the stream; `None` if neither has come with so many bytes.
async fn read_up_to(reading: &mut Reading, line: &mut Vec<u8>, most: usize) -> Option<bool> {
    let limit = most.saturating_sub(line.len()) as u64;
    match reading.take(limit).read_until(b'\n', line).await {
        Err(_) | Ok(0) => Some(false),
        Ok(_) if line.last() == Some(&b'\n') => Some(true),
        Ok(_) if line.len() >= most => None,
        Ok(_) => Some(false),
    }
}

fn line_of(id: u64, outcome: Outcome) -> Vec<u8> {
    let mut line = serde_json::to_vec(&Response { id, outcome }).unwrap_or_default();
    line.push(b'\n');
    line
}

pub(crate) async fn answer(writing: &Writing, id: u64, outcome: Outcome) -> std::io::Result<()> {
    writing.send(&line_of(id, outcome)).await
}

async fn carry_out(call: Call, by: Actor, shared: &Shared) -> Result<Answer, WireError> {
    match call {
        Call::Ping => {
            let keeping = shared.engine.keeping().await;
            Ok(Answer::Pong(Pong {
                version: shared.version.to_owned(),
                pid: std::process::id(),
                home: shared.home.path().display().to_string(),
                started_at_ms: shared.started_at_ms,
                live: shared.engine.live().await as u64,
                guardian: keeping.guardian,
                went_back: keeping.went_back,
            }))
        }
        Call::Spawn(spec) => spawn(spec, by, shared).await,
        Call::Runs(filter) => runs(filter, shared).await.map(Answer::Runs),
        Call::Show(target) => {
            current(shared, &target.run).await.map(|run| Answer::Run(Box::new(run)))
        }
        Call::Wait(target) => wait(shared, &target.run).await.map(Answer::Ended),
        Call::AwaitStart(target) => {
            let record = current(shared, &target.run).await?;
            shared.engine.await_start(record.run_id).await;
            let record = current(shared, &record.run_id.to_string()).await?;
            Ok(Answer::Run(Box::new(record)))
        }
        Call::Pools => Ok(Answer::Pools(shared.engine.pools().await)),
        Call::Cancel(call) => cancel(shared, call, by).await.map(Answer::Cancelled),
        Call::Leave(target) => {
            let run = find(shared, &target.run)?.run_id;
            shared.engine.leave(run, by).await.ok_or_else(stopping).map(|()| Answer::Asked)
        }
        Call::Entries(filter) => journal::slice(&filter, shared).await.map(Answer::Entries),
        Call::Metrics => metrics(shared).await.map(Answer::Metrics),
        Call::Shutdown => {
            let stopped = shared.engine.shutdown(by).await.ok_or_else(stopping)?;
            Ok(Answer::ShutDown(ShutdownAnswer {
                pid: std::process::id(),
                ended: stopped.ended,
                unsaved: stopped.unsaved as u64,
                left: stopped.left,
            }))
        }
        Call::Restart => match shared.engine.restart_for(by).await {
            Some(_) => Ok(Answer::Asked),
            None => Err(error(ErrorCode::Conflict, "the caller is not a process of a run")),
        },
        Call::Declare(call) => {
            let DeclareCall { units, pools, file, gone, start, dry_run } = call;
            may_end(&known(&gone, shared).await?)?;
            let declaration = Declaration { units, pools, file, gone, start, dry_run };
            let declared = shared.engine.declare(declaration, by).await.ok_or_else(stopping)?;
            declared.map(Answer::Plan).map_err(pool_refused)
        }
        Call::Wake => {
            shared.engine.wake();
            Ok(Answer::Asked)
        }
        Call::Units(call) => ask_units(call, by, shared).await,
        Call::WakeUnit(call) => {
            known(std::slice::from_ref(&call.name), shared).await?;
            shared.engine.wake_unit(call.name, by, call.why);
            Ok(Answer::Asked)
        }
        Call::AwaitUnits(call) => {
            let until = match call.until {
                AwaitUntil::Settled => Until::Settled,
                AwaitUntil::Stopped => Until::Stopped,
            };
            let views = shared.engine.await_units(call.names, until).await;
            views.map(Answer::Units).ok_or_else(stopping)
        }
        Call::Look(call) => looks::look(call, shared).await.map(Answer::Looks).ok_or_else(stopping),
        Call::UnitViews => shared.engine.unit_views().await.map(Answer::Units).ok_or_else(stopping),
        Call::HandOver(call) => {
            hand_over(shared.engine.hand_over(call.program.map(PathBuf::from)).await)
        }
        Call::Mail(call) => mail::mail(call, shared).await,
        Call::Nudges(call) => mail::nudges(call, shared).await,
        Call::Patrol(call) => patrol::patrol(*call, by, shared).await,
        Call::AgentSession(call) => session(call, shared).await,
        Call::AgentIdle(call) => {
            let record = current(shared, &call.of).await?;
            shared.engine.report_idle(record.run_id, call.idle);
            Ok(Answer::Asked)
        }
        Call::Screen(target) => screen::screen(&target.run, shared).await,
        Call::Agent(call) => agents::agent(call, shared).await,
        Call::AgentReport(call) => agents::report(*call, by, shared).await,
        Call::View(_) | Call::Write(_) => {
            Err(error(ErrorCode::Internal, "this call takes the connection over"))
        }
    }
}

async fn spawn(spec: Box<RunSpec>, by: Actor, shared: &Shared) -> Result<Answer, WireError> {
    let bad = |message: String| Err(error(ErrorCode::InvalidRequest, message));
    if spec.argv.is_empty() {
        return bad("argv is empty: name a program to run".to_owned());
    }
    if spec.limits.grace_ms > Limits::MAX_GRACE_MS {
        return bad(format!(
            "a grace of {} ms is too long: at most {} ms",
            spec.limits.grace_ms,
            Limits::MAX_GRACE_MS
        ));
    }
    if spec.size.columns == 0 || spec.size.rows == 0 {
        return bad("a terminal has at least one column and one row".to_owned());
    }
    if spec.size.is_too_large() {
        let (TerminalSize { columns, rows }, most) = (spec.size, TerminalSize::MOST);
        return bad(format!(
            "a terminal of {columns}x{rows} is too large: at most {most} columns and {most} rows"
        ));
    }
    // Asked again by somebody whose answer was lost with our predecessor.
    if let Some(run) = spec.run_id
        && let Ok(record) = current(shared, &run.to_string()).await
    {
        return Ok(Answer::Spawned(Box::new(record)));
    }
    match shared.engine.spawn(spec, by).await {
        Ok(record) => Ok(Answer::Spawned(Box::new(record))),
        Err(SpawnRefused::ShuttingDown) => Err(error(
            ErrorCode::ShuttingDown,
            "the supervisor is stopping and starts nothing more",
        )),
        Err(SpawnRefused::Pool(refused)) => Err(pool_refused(refused)),
        Err(SpawnRefused::Registry { message }) => Err(error(
            ErrorCode::RegistryFailed,
            format!("the run was not started, because it could not be recorded: {message}"),
        )),
    }
}

async fn session(call: AgentSessionCall, shared: &Shared) -> Result<Answer, WireError> {
    let told = shared.engine.learn_session(call).await;
    told.map(|()| Answer::Asked).map_err(|refused| {
        let code = match &refused {
            SessionRefused::BadId(_) => ErrorCode::InvalidRequest,
            SessionRefused::NoSuch(_) => ErrorCode::NoSuchRun,
            SessionRefused::Older { .. } => ErrorCode::Conflict,
            SessionRefused::NotKept(NotKept::ShuttingDown) => ErrorCode::ShuttingDown,
            SessionRefused::NotKept(_) => ErrorCode::RegistryFailed,
        };
        error(code, refused.to_string())
    })
}

/// The dispatcher has ended: what it does not know any more is not answered with nothing.
fn stopping() -> WireError {
    error(ErrorCode::ShuttingDown, "the supervisor is stopping")
}

fn pool_refused(refused: PoolRefused) -> WireError {
    error(ErrorCode::InvalidRequest, refused.to_string())
}

async fn runs(filter: RunFilter, shared: &Shared) -> Result<Vec<RunRecord>, WireError> {
    if let Some(unit) = &filter.unit {
        let most = filter.newest_ended.unwrap_or(u64::from(u32::MAX));
        return shared.read(|reader| reader.runs_of(unit, most)).map_err(registry_error);
    }
    let ours = shared.engine.records().await.ok_or_else(stopping)?;
    let others = shared.read(|reader| reader.live()).map_err(registry_error)?;
    // Those that have ended are looked at last: a run that ends between the looks is in two of them, never in none.
    let mut runs = if filter.live_only {
        Vec::new()
    } else {
        let query = RunQuery { newest: filter.newest_ended };
        let mut ended = shared.read(|reader| reader.ended(query)).map_err(registry_error)?;
        ended.reverse();
        ended
    };
    let own: std::collections::HashSet<RunId> = ours.iter().map(|run| run.run_id).collect();
    runs.extend(others.into_iter().filter(|run| !own.contains(&run.run_id)));
    runs.extend(ours);
    // The later word counts.
    let mut seen = std::collections::HashSet::new();
    runs.retain(|run| seen.insert(run.run_id));
    Ok(runs)
}

async fn wait(shared: &Shared, text: &str) -> Result<RunResult, WireError> {
    let record = find(shared, text)?;
    ended(shared, record.run_id).await
}

/// The result of a run, once there is one.
pub(crate) async fn ended(shared: &Shared, run: RunId) -> Result<RunResult, WireError> {
    match shared.engine.wait(run).await {
        Cancelled::Ended(result) => Ok(result),
        Cancelled::NotLive => {
            let record = find(shared, &run.to_string())?;
            if record.state == RunState::Exited {
                return Ok(record.result());
            }
            Err(others(&record))
        }
    }
}

fn others(record: &RunRecord) -> WireError {
    error(
        ErrorCode::Elsewhere,
        format!(
            "run {} belongs to another supervisor (instance {}); ask that one",
            record.run_id, record.owner_instance_id
        ),
    )
}

async fn cancel(shared: &Shared, call: CancelCall, by: Actor) -> Result<CancelAnswer, WireError> {
    let reason = call.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    if reason.is_some_and(|reason| reason.chars().count() > CancelCall::REASON_MOST) {
        let most = CancelCall::REASON_MOST;
        let message = format!("the reason is too long; it has at most {most} characters");
        return Err(error(ErrorCode::InvalidRequest, message));
    }
    let reason = reason.map(str::to_owned);
    let record = find(shared, &call.run)?;
    let below = shared.engine.descendants(record.run_id).await;
    let cancelled = shared.engine.cancel(record.run_id, Canceller { by, said: reason }).await;
    for run in below {
        shared.engine.wait(run).await;
    }
    match cancelled {
        Cancelled::Ended(result) => Ok(CancelAnswer { already_ended: false, result }),
        Cancelled::NotLive => {
            let record = find(shared, &record.run_id.to_string())?;
            if record.state == RunState::Exited {
                return Ok(CancelAnswer { already_ended: true, result: record.result() });
            }
            Err(others(&record))
        }
    }
}

pub(crate) async fn metrics(shared: &Shared) -> Result<Vec<Sample>, WireError> {
    let mut samples = shared.read(|reader| reader.counters()).map_err(registry_error)?;
    samples.push(Sample {
        name: "run_live".to_owned(),
        labels: BTreeMap::new(),
        value: shared.engine.live().await as u64,
    });
    let total = shared.engine.output_total();
    for (name, value) in [("output_kept_bytes", total.kept()), ("output_most_bytes", total.most())]
    {
        samples.push(Sample { name: name.to_owned(), labels: BTreeMap::new(), value });
    }
    Ok(samples)
}

async fn take_input(
    id: u64,
    text: &str,
    shared: &Shared,
    reading: &mut Reading,
    writing: &Writing,
) -> Outcome {
    let record = match find(shared, text) {
        Ok(record) => record,
        Err(refusal) => return Outcome::Error(refusal),
    };
    let run = record.run_id;
    let Some(attached) = shared.engine.attach(run).await else {
        return Outcome::Error(error(
            ErrorCode::Conflict,
            format!("run {run} has ended; nothing can be written to it"),
        ));
    };
    if !attached.input.is_writable() {
        return Outcome::Error(error(
            ErrorCode::Conflict,
            format!("run {run} was started without --stdin; nothing can be written to it"),
        ));
    }
    if answer(writing, id, Outcome::Ok(Answer::Writing)).await.is_err() {
        return Outcome::Ok(Answer::Written(0));
    }
    let mut written = 0;
    let mut frames = Frames::default();
    loop {
        let step = match frames.next(reading).await {
            Ok((FrameKind::Input, bytes)) => {
                let deliver = async {
                    tokio::select! {
                        given = typing::give(run, &attached, &bytes) => given,
                        _ = shared.engine.wait(run) => Err(error(
                            ErrorCode::Conflict,
                            format!("run {run} ended before it had read everything"),
                        )),
                    }
                };
                frames.while_heard(reading, deliver).await.map(|given| given.map(|()| bytes.len()))
            }
            Ok((FrameKind::EndOfInput, _)) => {
                return match typing::end(run, &attached, &shared.engine).await {
                    Ok(()) => Outcome::Ok(Answer::Written(written)),
                    Err(refusal) => Outcome::Error(refusal),
                };
            }
            Ok((FrameKind::Detach, _)) => return Outcome::Ok(Answer::Written(written)),
            Ok((other, _)) => {
                Ok(Err(error(ErrorCode::InvalidRequest, format!("a frame {other:?} is not input"))))
            }
            Err(stop) => Err(stop),
        };
        match step {
            Ok(Ok(length)) => written += length as u64,
            Ok(Err(refusal)) | Err(Stop::Bad(refusal)) => return Outcome::Error(refusal),
            Err(Stop::HungUp) => return Outcome::Ok(Answer::Written(written)),
        }
    }
}

fn hand_over(outcome: HandOver) -> Result<Answer, WireError> {
    let why_not = match outcome {
        HandOver::Begun => return Ok(Answer::HandingOver),
        HandOver::NoGuardian => {
            "this supervisor was started without a guardian; end it and use `ostler start`"
        }
        HandOver::NoCopy(why) => {
            return Err(error(
                ErrorCode::Conflict,
                format!("{why}; free some space there, then upgrade again"),
            ));
        }
        HandOver::Systemd => {
            "systemd looks after this supervisor: replace the program its unit names, then `systemctl restart` the unit"
        }
        HandOver::Stopping => {
            return Err(stopping());
        }
    };
    Err(error(ErrorCode::Conflict, why_not))
}

/// Every name must be one: nothing is done by halves.
async fn ask_units(call: UnitsCall, by: Actor, shared: &Shared) -> Result<Answer, WireError> {
    let named = known(&call.names, shared).await?;
    let ask = match call.ask {
        wire::UnitAsk::Start => UnitAsk::Start,
        wire::UnitAsk::Stop => {
            may_end(&named)?;
            UnitAsk::Stop
        }
        wire::UnitAsk::Restart => UnitAsk::Restart,
    };
    shared.engine.ask_units(call.names, ask, by);
    Ok(Answer::Asked)
}

/// The units of these names; every one must be there.
async fn known(names: &[String], shared: &Shared) -> Result<Vec<UnitView>, WireError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut known = shared.engine.unit_views().await.ok_or_else(stopping)?;
    for name in names {
        if !known.iter().any(|view| view.name == *name) {
            let names: Vec<&str> = known.iter().map(|view| view.name.as_str()).collect();
            let told = format!("there is no unit {name:?}; there is: {}", names.join(", "));
            return Err(error(ErrorCode::NoSuchRun, told));
        }
    }
    known.retain(|view| names.contains(&view.name));
    Ok(known)
}

/// A part of the daemon serves units of all files, and ends with the daemon only.
fn may_end(units: &[UnitView]) -> Result<(), WireError> {
    match units.iter().find(|view| view.part == Some(Part::Daemon)) {
        None => Ok(()),
        Some(view) => Err(error(
            ErrorCode::InvalidRequest,
            format!(
                "{} is a part of the daemon and ends with it: `ostler stop` without a name ends both, `ostler restart {}` starts it anew",
                view.name, view.name
            ),
        )),
    }
}
