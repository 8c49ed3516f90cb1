//! The thread that checks whether units are ready and healthy. Each check has its own timer and timeout; a check that
//! hangs delays no other.

use crate::apps::{self, AppReport};
use crate::checks::http::{get, get_healthy, post};
use crate::checks::liveness;
use crate::checks::ready_line::LineWatch;
use crate::handle::Handle;
use crate::output::{LogReader, OutputState, Piece};
use ostler_core::unit::{Idle, UnitEvent};
use ostler_model::{
    CHECK_UNKNOWN, Check, DeadmanSpec, HealthSpec, HeartbeatSpec, OsText, ReadySpec, RunId,
    RunSpec, SpawnErrorKind, UnitState, What,
};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout};

/// The pause between two readiness checks.
const READY_EVERY: Duration = Duration::from_millis(100);
/// The time limit of one readiness check; a lost answer is requested again.
const QUESTION_MOST: Duration = Duration::from_secs(5);
/// This many failures of a check are recorded at once, and then one per `NOTE_EVERY_MS`.
const NOTES_AT_ONCE: u64 = 20;
const NOTE_EVERY_MS: u64 = 10_000;

/// What a check needs to know about its unit.
pub(crate) struct Subject {
    pub(crate) unit: String,
    pub(crate) run: RunId,
    pub(crate) output: Option<Arc<OutputState>>,
    /// The unit's own reports, if it sends any.
    pub(crate) report: Option<Arc<AppReport>>,
    /// A run spec with the unit's environment, for checks that run a command.
    pub(crate) like: Box<RunSpec>,
    /// Words before the command that run it in the unit's container.
    pub(crate) before: Vec<OsText>,
}

pub(crate) enum ProbeCommand {
    Ready {
        subject: Subject,
        ready: ReadySpec,
        /// For an app: the time limit for its registration.
        register_ms: Option<u64>,
    },
    /// Receives its sd_notify messages.
    Receive {
        run: RunId,
        socket: std::os::unix::net::UnixDatagram,
        report: Arc<AppReport>,
    },
    /// Expects its heartbeats from now on.
    Liveness {
        report: Arc<AppReport>,
        heartbeat: HeartbeatSpec,
    },
    Health {
        subject: Subject,
        health: HealthSpec,
    },
    /// A readiness check that runs as long as the unit.
    Readiness {
        subject: Subject,
        health: HealthSpec,
    },
    /// Runs a command that succeeds if no client is attached; then the unit is idle since `mono_ms`.
    Unattended {
        subject: Subject,
        argv: Vec<String>,
        mono_ms: u64,
    },
    Forget(RunId),
    Post(Message),
    /// The complete list of URLs that get a regular request while all units are well.
    Deadmen(Vec<DeadmanSpec>),
}

/// The content of a POST.
pub(crate) struct Message {
    pub(crate) url: String,
    pub(crate) body: String,
}

/// The result of a check.
pub(crate) struct Probed {
    pub(crate) unit: String,
    pub(crate) event: UnitEvent,
}

/// Its thread starts with the first check.
pub(crate) struct Prober {
    engine: Handle,
    notify: NotifyFn,
    begun: Option<Begun>,
}

struct Begun {
    orders: mpsc::UnboundedSender<ProbeCommand>,
    thread: JoinHandle<()>,
}

impl Prober {
    /// `notify` is called on the prober's thread and must not block.
    pub(crate) fn new(engine: Handle, notify: impl Fn(Probed) + Send + Sync + 'static) -> Self {
        Self { engine, notify: Arc::new(notify), begun: None }
    }

    pub(crate) fn order(&mut self, order: ProbeCommand) -> io::Result<()> {
        let begun = match self.begun.take() {
            Some(begun) => begun,
            None => begin(self.engine.clone(), Arc::clone(&self.notify))?,
        };
        let _ = begun.orders.send(order);
        self.begun = Some(begun);
        Ok(())
    }

    /// The run is over: stop its checks.
    pub(crate) fn forget(&self, run: RunId) {
        if let Some(begun) = &self.begun {
            let _ = begun.orders.send(ProbeCommand::Forget(run));
        }
    }
}

fn begin(engine: Handle, notify: NotifyFn) -> io::Result<Begun> {
    let (orders, inbox) = mpsc::unbounded_channel();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let thread = std::thread::Builder::new()
        .name("prober".to_owned())
        .stack_size(512 << 10)
        .spawn(move || runtime.block_on(work(inbox, engine, notify)))?;
    Ok(Begun { orders, thread })
}

impl Drop for Prober {
    fn drop(&mut self) {
        if let Some(Begun { orders, thread }) = self.begun.take() {
            drop(orders);
            let _ = thread.join();
        }
    }
}

pub(crate) type NotifyFn = Arc<dyn Fn(Probed) + Send + Sync>;

async fn work(mut inbox: mpsc::UnboundedReceiver<ProbeCommand>, engine: Handle, notify: NotifyFn) {
    let mut tasks: tokio::task::JoinSet<()> = tokio::task::JoinSet::new();
    let mut deadmen = Vec::new();
    let mut running: std::collections::HashMap<RunId, Vec<tokio::task::AbortHandle>> =
        std::collections::HashMap::new();
    loop {
        let order = tokio::select! {
            order = inbox.recv() => order,
            Some(_) = tasks.join_next(), if !tasks.is_empty() => continue,
        };
        let Some(order) = order else { break };
        match order {
            ProbeCommand::Receive { run, socket, report } => {
                let (engine, notify) = (engine.clone(), Arc::clone(&notify));
                let task = tasks.spawn(apps::receive(socket, report, engine, notify));
                running.entry(run).or_default().push(task);
            }
            ProbeCommand::Liveness { report, heartbeat } => {
                let (notify, run) = (Arc::clone(&notify), report.run);
                let task =
                    tasks.spawn(async move { liveness::watch(&report, heartbeat, &*notify).await });
                running.entry(run).or_default().push(task);
            }
            ProbeCommand::Ready { subject, ready, register_ms } => {
                let (notify, engine, run) = (Arc::clone(&notify), engine.clone(), subject.run);
                let task = tasks.spawn(async move {
                    let unit = subject.unit.clone();
                    notify(Probed {
                        unit,
                        event: until_ready(subject, ready, register_ms, &engine).await,
                    });
                });
                running.entry(run).or_default().push(task);
            }
            ProbeCommand::Health { subject, health } => {
                let (notify, engine, run) = (Arc::clone(&notify), engine.clone(), subject.run);
                let task = tasks.spawn(async move {
                    let why = until_unhealthy(&subject, &health, &engine, &*notify).await;
                    let unit = subject.unit;
                    notify(Probed { unit, event: UnitEvent::Unhealthy { run, why } });
                });
                running.entry(run).or_default().push(task);
            }
            ProbeCommand::Readiness { subject, health } => {
                let (notify, engine, run) = (Arc::clone(&notify), engine.clone(), subject.run);
                let task = tasks
                    .spawn(async move { stay_ready(&subject, &health, &engine, &*notify).await });
                running.entry(run).or_default().push(task);
            }
            ProbeCommand::Unattended { subject, argv, mono_ms } => {
                let (notify, engine, run) = (Arc::clone(&notify), engine.clone(), subject.run);
                let task = tasks.spawn(async move {
                    let idle = match execute(&argv, &subject, QUESTION_MOST, &engine).await {
                        Ok(()) => Idle::Since { mono_ms },
                        Err(_) => Idle::No,
                    };
                    notify(Probed { unit: subject.unit, event: UnitEvent::Idle { run, idle } });
                });
                running.entry(run).or_default().push(task);
            }
            ProbeCommand::Post(message) => {
                tasks.spawn(async move { deliver(message).await });
            }
            ProbeCommand::Deadmen(wanted) => {
                for task in deadmen.drain(..) {
                    let task: tokio::task::AbortHandle = task;
                    task.abort();
                }
                for one in wanted {
                    let engine = engine.clone();
                    deadmen.push(tasks.spawn(async move { keep_notifying(one, &engine).await }));
                }
            }
            ProbeCommand::Forget(run) => {
                for task in running.remove(&run).unwrap_or_default() {
                    task.abort();
                }
            }
        }
    }
}

async fn until_ready(
    subject: Subject,
    ready: ReadySpec,
    register_ms: Option<u64>,
    engine: &Handle,
) -> UnitEvent {
    let run = subject.run;
    if let (Check::App | Check::Notify, Some(report)) = (&ready.check, &subject.report) {
        return liveness::until_ready(report, register_ms, ready.timeout_ms).await;
    }
    let most = Duration::from_millis(ready.timeout_ms);
    let asked = async {
        match &ready.check {
            Check::Delay(ms) => sleep(Duration::from_millis(*ms)).await,
            Check::Line(pattern) => until_line(pattern, subject.output.clone()).await,
            check => {
                while ask(check, &subject, most.min(QUESTION_MOST), engine).await.is_err() {
                    sleep(READY_EVERY).await;
                }
            }
        }
    };
    // A delay has its own time.
    let is_delay = matches!(ready.check, Check::Delay(_));
    if is_delay {
        asked.await;
        return UnitEvent::Ready { run };
    }
    match timeout(most, asked).await {
        Ok(()) => UnitEvent::Ready { run },
        Err(_) => {
            let why = match ask(&ready.check, &subject, Duration::from_secs(1), engine).await {
                Err(CheckFailure { why, .. }) => {
                    format!("not ready within {} ms: {why}", ready.timeout_ms)
                }
                Ok(()) => format!("not ready within {} ms", ready.timeout_ms),
            };
            UnitEvent::NotReady { run, why }
        }
    }
}

/// Returns after so many failures in a row that the unit counts as unhealthy.
async fn until_unhealthy(
    subject: &Subject,
    health: &HealthSpec,
    engine: &Handle,
    notify: &(dyn Fn(Probed) + Send + Sync),
) -> String {
    let first = Instant::now() + Duration::from_millis(health.start_after_ms);
    let mut clock = interval_at(first, Duration::from_millis(health.interval_ms.max(1)));
    // Checks missed because of a slow one are skipped.
    clock.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let most = Duration::from_millis(health.timeout_ms);
    let (mut failures, mut successes) = (0, 0);
    let mut notes = Notes::new(subject, health);
    loop {
        clock.tick().await;
        match ask(&health.check, subject, most, engine).await {
            Ok(()) => {
                successes += 1;
                if failures > 0 && successes >= health.successes {
                    notes.add(notify, What::CheckPassed, "check passed", failures);
                    failures = 0;
                }
            }
            // The check itself could not run: this says nothing about the unit.
            Err(CheckFailure { is_known: false, .. }) => {}
            Err(CheckFailure { why, .. }) => {
                successes = 0;
                failures += 1;
                notes.add(notify, What::CheckFailed, &why, failures);
                if failures >= health.failures {
                    return format!("{failures} checks in a row failed; last: {why}");
                }
            }
        }
    }
}

/// The unit is ready when the check passes. Later failures are only reported.
async fn stay_ready(
    subject: &Subject,
    health: &HealthSpec,
    engine: &Handle,
    notify: &(dyn Fn(Probed) + Send + Sync),
) {
    let mut clock = tokio::time::interval(Duration::from_millis(health.interval_ms.max(1)));
    clock.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let most = Duration::from_millis(health.timeout_ms);
    let (mut failures, mut successes) = (0, 0);
    let mut is_ready = false;
    let mut notes = Notes::new(subject, health);
    let say = |event: UnitEvent| notify(Probed { unit: subject.unit.clone(), event });
    let run = subject.run;
    loop {
        clock.tick().await;
        match ask(&health.check, subject, most, engine).await {
            Ok(()) => {
                (failures, successes) = (0, successes + 1);
                if successes == health.successes {
                    say(if is_ready {
                        UnitEvent::Recovered { run }
                    } else {
                        UnitEvent::Ready { run }
                    });
                    is_ready = true;
                }
            }
            Err(CheckFailure { is_known: false, .. }) => {}
            Err(CheckFailure { why, .. }) => {
                (failures, successes) = (failures + 1, 0);
                let why = format!("not ready: {why}");
                if is_ready && failures == health.failures {
                    say(UnitEvent::Degraded { run, why });
                } else if !is_ready {
                    notes.add(notify, What::CheckFailed, &why, failures);
                }
            }
        }
    }
}

/// Records single checks in the journal, at a limited rate.
struct Notes<'a> {
    subject: &'a Subject,
    most: u32,
    /// A limit on the monotonic clock: each entry moves it by `NOTE_EVERY_MS`.
    spent_until_ms: u64,
}

impl<'a> Notes<'a> {
    fn new(subject: &'a Subject, health: &HealthSpec) -> Self {
        Self { subject, most: health.failures, spent_until_ms: 0 }
    }

    fn add(
        &mut self,
        notify: &(dyn Fn(Probed) + Send + Sync),
        what: What,
        why: &str,
        failures: u32,
    ) {
        let now_ms = ostler_os::mono_ms();
        let spent_ms = self.spent_until_ms.max(now_ms);
        if spent_ms - now_ms >= NOTES_AT_ONCE * NOTE_EVERY_MS {
            return;
        }
        self.spent_until_ms = spent_ms + NOTE_EVERY_MS;
        let evidence = serde_json::json!({ "inARow": failures, "most": self.most });
        let (unit, run) = (self.subject.unit.clone(), self.subject.run);
        notify(Probed {
            unit,
            event: UnitEvent::Noted { run, what, why: why.to_owned(), evidence },
        });
    }
}

/// A check that did not pass.
struct CheckFailure {
    why: String,
    /// False if the check could not be made: then nothing is known.
    is_known: bool,
}

impl CheckFailure {
    fn known(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_known: true }
    }

    fn unknown(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_known: false }
    }
}

async fn ask(
    check: &Check,
    subject: &Subject,
    most: Duration,
    engine: &Handle,
) -> Result<(), CheckFailure> {
    let answer = async {
        let known = match check {
            Check::Http(url) => get(url).await,
            Check::HttpHealthy(url) => get_healthy(url).await,
            Check::Tcp(address) => TcpStream::connect(address)
                .await
                .map(drop)
                .map_err(|error| format!("{address}: {error}")),
            Check::Exec(argv) => return execute(argv, subject, most, engine).await,
            Check::Line(_) => Err("expected line not found in its output".to_owned()),
            Check::Notify => Err("READY=1 not received".to_owned()),
            Check::App => Err("app.ready not called".to_owned()),
            Check::Delay(_) => Ok(()),
        };
        known.map_err(CheckFailure::known)
    };
    match check {
        // The run has its own timeout and ends with all its processes.
        Check::Exec(_) => answer.await,
        _ => timeout(most, answer)
            .await
            .unwrap_or_else(|_| Err(CheckFailure::known("no answer before the timeout"))),
    }
}

/// Runs the command as an ordinary run with the unit's environment and a timeout.
async fn execute(
    argv: &[String],
    subject: &Subject,
    most: Duration,
    engine: &Handle,
) -> Result<(), CheckFailure> {
    let mut spec = subject.like.clone();
    let words = argv.iter().map(|word| OsText(word.clone().into_bytes()));
    spec.argv = subject.before.iter().cloned().chain(words).collect();
    spec.limits.timeout_ms = Some(most.as_millis() as u64);
    // The output of a check is not watched.
    spec.limits.no_output_timeout_ms = None;
    let name = argv.first().cloned().unwrap_or_default();
    let Some(record) = engine.check(spec).await else {
        return Err(CheckFailure::unknown(format!("{name}: the supervisor refused the run")));
    };
    match (&record.error, record.spawn_error_kind) {
        // Missing system resources for a check say nothing about the unit.
        (
            Some(error),
            Some(
                SpawnErrorKind::OutOfMemory
                | SpawnErrorKind::OutOfDescriptors
                | SpawnErrorKind::OutOfProcesses,
            ),
        ) => return Err(CheckFailure::unknown(error)),
        (Some(error), Some(_)) => return Err(CheckFailure::known(error)),
        (Some(_), None) | (None, _) => {}
    }
    let result = record.result();
    if result.exit_code == Some(CHECK_UNKNOWN) && !subject.before.is_empty() {
        return Err(CheckFailure::unknown(format!("{name}: the container engine does not answer")));
    }
    if result.timed_out {
        return Err(CheckFailure::known(format!("{name}: timed out")));
    }
    match (result.exit_code, result.exit_signal) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(CheckFailure::known(format!("{name}: exit {code}"))),
        (None, Some(signal)) => Err(CheckFailure::known(format!("{name}: signal {signal}"))),
        (None, None) => Err(CheckFailure::unknown(format!("{name}: exit status unknown"))),
    }
}

/// Tries five times at most, with growing pauses.
async fn deliver(message: Message) {
    for pause_s in [1, 2, 4, 8, 0] {
        let sent = post(&message.url, &message.body);
        match timeout(Duration::from_secs(10), sent).await {
            Ok(Ok(())) => return,
            Ok(Err(_)) | Err(_) => sleep(Duration::from_secs(pause_s)).await,
        }
    }
}

/// Sends regular messages as long as no unit is in `error`; their absence is the alarm.
async fn keep_notifying(deadman: DeadmanSpec, engine: &Handle) {
    let every = Duration::from_millis(deadman.every_ms.max(100));
    loop {
        let views = engine.unit_views().await;
        if views.is_some_and(|views| views.iter().all(|view| view.state != UnitState::Error)) {
            let _ = timeout(every, get(&deadman.url)).await;
        }
        sleep(every).await;
    }
}

async fn until_line(pattern: &str, output: Option<Arc<OutputState>>) {
    let (Some(output), Some(mut watch)) = (output, LineWatch::new(pattern)) else {
        return std::future::pending().await;
    };
    let mut reader = LogReader::new(Arc::clone(&output));
    let mut offset = 0;
    loop {
        match reader.next(offset) {
            Ok(Piece::Bytes { bytes, .. }) => {
                offset += bytes.len() as u64;
                if watch.add(&bytes) {
                    return;
                }
                // Other checks run on this thread too.
                tokio::task::yield_now().await;
            }
            Ok(Piece::Gap { to, .. }) => offset = to,
            Ok(Piece::CaughtUp) if output.is_ended() => return std::future::pending().await,
            Ok(Piece::CaughtUp) => output.more_than(offset).await,
            Err(_) => return std::future::pending().await,
        }
    }
}
