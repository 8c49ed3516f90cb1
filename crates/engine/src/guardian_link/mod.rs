//! The supervisor's link to its guardian: it sends heartbeats, stores file descriptors that must outlive the
//! supervisor, and starts a new guardian if the old one dies. Under systemd, systemd is the guardian.

pub(crate) mod fd_store;
pub(crate) mod inheritance;

use crate::guardian_link::fd_store::FdStore;
use crate::guardian_link::inheritance::{
    APP_SOCKET, APP_SOCKET_FILE, CONTROL_SOCKET, CONTROL_SOCKET_FILE, DescriptorKind, Inheritance,
    LOCK, REAPED, SPLICE,
};
use crate::output::{Source, left_over};
use crate::supervisor::{GUARDIAN, GUARDIAN_CONNECTION, REPORTS, Supervisor};
use ostler_core::{Event, ExitStatus};
use ostler_model::{RunId, What};
use ostler_os::{Background, Ending, Interest, Note, Process, RunReaper, SplicePipe};
use ostler_registry::Rollback;
use serde_json::json;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The pause before starting a guardian is retried.
const RETRY_MS: u64 = 1_000;

/// The guardian or service manager, from the environment.
#[derive(Clone, Debug, Default)]
pub struct GuardianInfo {
    /// `NOTIFY_SOCKET`.
    pub address: Option<OsString>,
    /// The guardian's pid; `None` under systemd.
    pub guardian: Option<i32>,
    /// The interval in which a heartbeat is expected.
    pub watchdog_ms: Option<u64>,
    /// Why the program of an upgrade was not used.
    pub rollback_reason: Option<String>,
}

/// Sends heartbeats only if all threads are alive, not just the one that sends them.
struct Watchdog {
    every_ms: u64,
    due: u64,
    liveness: u64,
}

/// The number of the last heartbeat that each of the other threads has seen. No thread is woken for it.
#[derive(Debug, Default)]
pub(crate) struct ThreadHeartbeats {
    pub(crate) output_writer: AtomicU64,
    pub(crate) control_socket: AtomicU64,
}

pub(crate) struct GuardianLink {
    pub(crate) fd_store: FdStore,
    pub(crate) inheritance: Inheritance,
    /// The sockets on which runs report readiness. Reports sent while no supervisor runs are kept for the next.
    pub(crate) notify_sockets: HashMap<RunId, OwnedFd>,
    /// Exits that the guardian saw, by pid.
    ends: HashMap<i32, Ending>,
    reports: Option<OwnedFd>,
    guardian: Option<Process>,
    starting: Option<(i32, Background)>,
    retry_at: Option<u64>,
    watchdog: Option<Watchdog>,
    /// Descriptors that are held whatever runs exist.
    permanent: Vec<(&'static str, Box<dyn AsFd>)>,
    /// The run whose bytes the earlier supervisor left in the splice pipe.
    leftover: Option<(RunId, crate::output::StreamKind)>,
}

impl GuardianLink {
    pub(crate) fn new(guardian_info: &GuardianInfo, mut inheritance: Inheritance) -> Self {
        let fd_store =
            guardian_info.address.as_deref().and_then(|address| FdStore::open(address).ok());
        let reports = inheritance.take(REAPED);
        let ends = reports
            .iter()
            .flat_map(ostler_os::read_ends)
            .map(|reaped| (reaped.pid, reaped.ending))
            .collect();
        Self {
            fd_store: fd_store.unwrap_or_default(),
            inheritance,
            notify_sockets: HashMap::new(),
            ends,
            reports,
            // The guardian is our parent. Otherwise it is dead, and its pid may belong to another process.
            guardian: guardian_info
                .guardian
                .and_then(|pid| ostler_os::fingerprint_of(pid).as_ref().and_then(Process::open))
                .filter(|process| ostler_os::parent_pid() == process.fingerprint().pid),
            starting: None,
            retry_at: None,
            watchdog: guardian_info.watchdog_ms.map(|ms| Watchdog {
                every_ms: (ms / 3).max(1),
                due: u64::MAX,
                liveness: 0,
            }),
            permanent: Vec::new(),
            leftover: None,
        }
    }

    /// Stores a descriptor with this guardian and every later one.
    pub(crate) fn keep_always(&mut self, name: &'static str, descriptor: impl AsFd + 'static) {
        self.fd_store.keep(name, &descriptor);
        self.permanent.push((name, Box::new(descriptor)));
    }

    /// The same, replacing the descriptor with this name.
    pub(crate) fn keep_instead(&mut self, name: &'static str, descriptor: impl AsFd + 'static) {
        self.fd_store.let_go(name);
        self.permanent.retain(|(known, _)| *known != name);
        self.keep_always(name, descriptor);
    }

    /// The inherited splice pipe, or a new one.
    pub(crate) fn splice_pipe(&mut self) -> Option<(SplicePipe, Note)> {
        if let Some((splice_pipe, note)) = self.inheritance.take_splice() {
            self.leftover = left_over(&splice_pipe, &note);
            // The guardian holds it already.
            let [out, inlet] = splice_pipe.ends();
            self.permanent.push((SPLICE[0], Box::new(out)));
            self.permanent.push((SPLICE[1], Box::new(inlet)));
            self.permanent.push((SPLICE[2], Box::new(note.clone())));
            return Some((splice_pipe, note));
        }
        let (splice_pipe, note) = (SplicePipe::new().ok()?, Note::new().ok()?);
        let [out, inlet] = splice_pipe.ends();
        self.keep_always(SPLICE[0], out);
        self.keep_always(SPLICE[1], inlet);
        self.keep_always(SPLICE[2], note.clone());
        Some((splice_pipe, note))
    }

    pub(crate) fn leftover_of(&self, run: RunId) -> Option<crate::output::StreamKind> {
        self.leftover.filter(|(run_of_pid, _)| *run_of_pid == run).map(|(_, kind)| kind)
    }

    pub(crate) fn leftover_run(&self) -> Option<RunId> {
        self.leftover.map(|(run, _)| run)
    }

    /// How a process that the guardian reaped ended.
    pub(crate) fn end_of(&self, pid: i32) -> Option<Ending> {
        self.ends.get(&pid).copied()
    }

    pub(crate) fn next_due(&self, now_ms: u64) -> u64 {
        let watchdog = self.watchdog.as_ref().map_or(u64::MAX, |watchdog| watchdog.due);
        let unsent = self.fd_store.retry_in().map_or(u64::MAX, |ms| now_ms + ms);
        watchdog.min(unsent).min(self.retry_at.unwrap_or(u64::MAX))
    }
}

pub(crate) fn status_of(ending: Option<Ending>) -> ExitStatus {
    match ending {
        Some(Ending::Code(code)) => ExitStatus::Code(code),
        Some(Ending::Signal(signal)) => ExitStatus::Signal(signal),
        None => ExitStatus::Unknown,
    }
}

impl Supervisor {
    /// Reports that the control socket is open.
    pub fn report_ready(&mut self) {
        let live = self.runs.live.len();
        // From here on, no rollback is possible.
        self.identity.home.registry().drop_copy();
        self.guardian.guardian_link.fd_store.report_ready(&format!("{live} runs"));
        if let Some(watchdog) = &mut self.guardian.guardian_link.watchdog {
            watchdog.due = ostler_os::mono_ms();
        }
    }

    /// Records that an upgrade failed, and what happened to the registry.
    pub(crate) fn note_rollback(&mut self, registry: Option<Rollback>) {
        let runs = match registry {
            Some(Rollback::Yes { runs }) => Some(runs),
            Some(Rollback::NoCopy | Rollback::Shared) | None => None,
        };
        let why = self.guardian.guardian_info.rollback_reason.clone();
        if why.is_none() && runs.is_none() {
            return;
        }
        let why = why.unwrap_or_else(|| "the new program failed".to_owned());
        let why = match runs {
            Some(_) => format!("{why}; the registry was restored"),
            None => why,
        };
        self.entry(What::Rollback, &why, json!({ "runsTakenOver": runs }));
    }

    pub(crate) fn watch_guardian(&mut self) {
        if let Some(guardian) = &self.guardian.guardian_link.guardian {
            let _ = self.platform.poller.add(guardian, GUARDIAN, Interest::Readable);
        }
        if let Some(reports) = &self.guardian.guardian_link.reports {
            let _ = self.platform.poller.add(reports, REPORTS, Interest::Readable);
        }
    }

    /// A guardian that was killed before the supervisor looked is dead as well.
    pub(crate) fn miss_guardian(&mut self, pid: Option<i32>) {
        if pid.is_some() && self.guardian.guardian_link.guardian.is_none() {
            self.start_guardian();
        }
    }

    pub(crate) fn maintain_guardian(&mut self) {
        let now_ms = ostler_os::mono_ms();
        self.guardian.guardian_link.fd_store.send_waiting();
        if self.guardian.guardian_link.retry_at.is_some_and(|at| now_ms >= at) {
            self.guardian.guardian_link.retry_at = None;
            self.start_guardian();
        }
        // Sent a little early if we are awake anyway; at rest the lease timer wakes us.
        let is_due = |dog: &&mut Watchdog| now_ms.saturating_add(dog.every_ms / 4) >= dog.due;
        let Some(watchdog) = self.guardian.guardian_link.watchdog.as_mut().filter(is_due) else {
            return;
        };
        watchdog.due = now_ms + watchdog.every_ms;
        let heartbeats_seen = [
            &self.guardian.heartbeats_seen.output_writer,
            &self.guardian.heartbeats_seen.control_socket,
        ]
        .map(|heartbeats_seen| heartbeats_seen.load(Ordering::Acquire));
        if heartbeats_seen == [watchdog.liveness; 2] {
            self.guardian.guardian_link.fd_store.report_alive();
            watchdog.liveness += 1;
            self.threads.output_writer.liveness(watchdog.liveness);
            self.guardian.liveness.send_replace(watchdog.liveness);
        }
    }

    pub(crate) fn guardian_died(&mut self) {
        let Some(guardian) = self.guardian.guardian_link.guardian.take() else { return };
        self.platform.poller.remove(&guardian);
        // Messages that the guardian did not read are lost and sent again later.
        self.guardian.guardian_link.fd_store = FdStore::default();
        if let Some(reports) = self.guardian.guardian_link.reports.take() {
            self.platform.poller.remove(&reports);
        }
        self.entry(
            What::GuardianLost,
            "the guardian died; starting a new one",
            json!({ "pid": guardian.fingerprint().pid }),
        );
        self.start_guardian();
    }

    fn start_guardian(&mut self) {
        if self.life.stopping || self.life.successor.is_some() {
            return;
        }
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .custom_flags(ostler_sys::NONBLOCK)
            .open(self.identity.home.log());
        let log = log.or_else(|_| OpenOptions::new().write(true).open("/dev/null"));
        let own = std::process::id().to_string();
        let started_ms = ostler_os::started_at_ms(std::process::id() as i32);
        let ran_ms = started_ms.map_or(0, |started| ostler_os::wall_ms().saturating_sub(started));
        let environment = [
            ("OSTLER_SUPERVISOR", OsString::from(own)),
            ("OSTLER_SUPERVISOR_RAN_MS", OsString::from(ran_ms.to_string())),
        ];
        let arguments = [OsStr::new("guardian"), self.identity.home.path().as_os_str()];
        let started = log.and_then(|log| ostler_os::start_beside(&arguments, &environment, &log));
        match started {
            Ok((pid, line)) => {
                let _ = self.platform.poller.add(&line, GUARDIAN_CONNECTION, Interest::Readable);
                self.guardian.guardian_link.starting = Some((pid, line));
            }
            Err(_) => self.guardian.guardian_link.retry_at = Some(ostler_os::mono_ms() + RETRY_MS),
        }
    }

    /// The new guardian reports that it is ready, or exits.
    pub(crate) fn accept_new_guardian(&mut self) {
        let Some((pid, line)) = self.guardian.guardian_link.starting.take() else { return };
        self.platform.poller.remove(&line);
        let is_there = line.report().trim() == "ready";
        let process = ostler_os::fingerprint_of(pid).as_ref().and_then(Process::open);
        let address = self.identity.home.path().join("guardian.sock");
        let fd_store = FdStore::open(address.as_os_str());
        let (true, Some(process), Ok(fd_store)) = (is_there, process, fd_store) else {
            self.guardian.guardian_link.retry_at = Some(ostler_os::mono_ms() + RETRY_MS);
            return;
        };
        self.guardian.guardian_link.fd_store = fd_store;
        self.guardian.guardian_link.guardian = Some(process);
        self.watch_guardian();
        self.hand_everything();
        if self.life.stopping {
            self.report_stopping();
        }
        self.entry(What::GuardianStarted, "holds all live runs", json!({ "pid": pid }));
    }

    fn hand_everything(&mut self) {
        let fd_store = &mut self.guardian.guardian_link.fd_store;
        fd_store.keep(LOCK, &self.identity.lock);
        for (name, descriptor) in &self.guardian.guardian_link.permanent {
            fd_store.keep(name, &**descriptor);
        }
        for (run, socket) in &self.guardian.guardian_link.notify_sockets {
            fd_store.keep(&DescriptorKind::NotifySocket.name(*run), socket);
        }
        for (run, live) in self.runs.live.iter().filter(|(_, live)| !live.is_passing) {
            for (kind, descriptor) in &live.descriptors {
                fd_store.keep(&kind.name(*run), &**descriptor);
            }
            if let Some(process) = &live.process {
                fd_store.keep_process(*run, process.fingerprint().pid, process);
            }
        }
    }

    /// The guardian's pid, for `status`.
    pub(crate) fn guardian_pid(&self) -> Option<i32> {
        self.guardian.guardian_link.guardian.as_ref().map(|process| process.fingerprint().pid)
    }

    /// True if the run needs no record after this supervisor. Such a run is not stored with the guardian.
    pub(crate) fn is_passing(&self, run: RunId) -> bool {
        self.runs.live.get(&run).is_some_and(|live| live.is_passing)
    }

    pub(crate) fn keep_descriptors(
        &mut self,
        run: RunId,
        descriptors: &[(DescriptorKind, Arc<OwnedFd>)],
    ) {
        if self.is_passing(run) {
            return;
        }
        for (kind, descriptor) in descriptors {
            self.guardian.guardian_link.fd_store.keep(&kind.name(run), &**descriptor);
        }
    }

    pub(crate) fn let_go_descriptors(
        &mut self,
        run: RunId,
        descriptors: &[(DescriptorKind, Arc<OwnedFd>)],
    ) {
        for (kind, _) in descriptors {
            self.guardian.guardian_link.fd_store.let_go(&kind.name(run));
        }
    }

    pub(crate) fn let_go_notify_socket(&mut self, run: RunId) {
        if self.guardian.guardian_link.notify_sockets.remove(&run).is_some() {
            self.guardian.guardian_link.fd_store.let_go(&DescriptorKind::NotifySocket.name(run));
        }
    }

    pub(crate) fn input_closed(&mut self, run: RunId) {
        if let Some(live) = self.runs.live.get_mut(&run) {
            live.descriptors.retain(|(kind, _)| *kind != DescriptorKind::Input);
            self.guardian.guardian_link.fd_store.let_go(&DescriptorKind::Input.name(run));
        }
    }

    /// Handles exits that the guardian reaped: the first processes of adopted runs.
    pub(crate) fn take_reports(&mut self) {
        let Some(reports) = &self.guardian.guardian_link.reports else { return };
        for reaped in ostler_os::read_ends(reports) {
            self.guardian.guardian_link.ends.insert(reaped.pid, reaped.ending);
            let ended = self.runs.live.values_mut().find(|live| {
                let pid = live.process.as_ref().map(|process| process.fingerprint().pid);
                live.is_watched_by_descriptor && !live.root_gone && pid == Some(reaped.pid)
            });
            if let Some(live) = ended {
                let run = live.run;
                self.root_gone(run);
            }
        }
    }

    /// The first process of an adopted run has exited.
    pub(crate) fn root_gone(&mut self, run: RunId) {
        let Some(live) = self.runs.live.get_mut(&run).filter(|live| !live.root_gone) else {
            return;
        };
        live.root_gone = true;
        let reaper = live.scope.as_ref().and_then(ostler_os::Scope::reaper);
        let ending = live.process.as_ref().and_then(|process| {
            let pid = process.fingerprint().pid;
            self.runs.adopted_roots.remove(&pid);
            if self.runs.leaders.get(&pid) == Some(&run) {
                self.runs.leaders.remove(&pid);
            }
            let reaped = self.guardian.guardian_link.ends.get(&pid).copied();
            self.platform.poller.remove(process);
            describe_end(process, reaper).or(reaped)
        });
        let tree = self.survey(run);
        self.core.events.push_back(Event::RootExited { run, status: status_of(ending), tree });
    }

    /// Releases the descriptors of runs that are over or not ours.
    pub(crate) fn let_go_rest(&mut self, others: &[RunId]) {
        // The sockets are taken last of all, because clients may be waiting on them.
        let inheritance = &mut self.guardian.guardian_link.inheritance;
        let mut take = |name: &str| Some((name.to_owned(), inheritance.take(name)?));
        let names = [CONTROL_SOCKET, CONTROL_SOCKET_FILE, APP_SOCKET, APP_SOCKET_FILE];
        let ours = Inheritance::new(names.into_iter().filter_map(&mut take).collect());
        let rest = std::mem::replace(&mut self.guardian.guardian_link.inheritance, ours).rest();
        for name in rest {
            let is_anothers = others.iter().any(|run| name.starts_with(&run.short()));
            if name != LOCK && !is_anothers {
                self.guardian.guardian_link.fd_store.let_go(&name);
            }
        }
        if self.guardian.guardian_link.leftover.take().is_some() {
            self.threads.output_writer.empty_splice();
        }
    }
}

/// How a process ended: from its reaper's note, from the zombie, or from its pidfd. The reaper writes its note before
/// it reaps, so this waits while the note is missing.
fn describe_end(process: &Process, reaper: Option<&RunReaper>) -> Option<Ending> {
    const LOOKS: u32 = 200;
    let pid = process.fingerprint().pid;
    for _ in 0..LOOKS {
        let noted = reaper.and_then(|reaper| reaper.ending_of(pid));
        let ending = noted.or_else(|| process.ending());
        if ending.is_some() || !reaper.is_some_and(RunReaper::is_alive) {
            return ending;
        }
        ostler_os::nap(Duration::from_millis(1));
    }
    None
}

/// The descriptors from which a run's output is read.
pub(crate) fn sources(descriptors: &[(DescriptorKind, Arc<OwnedFd>)]) -> Vec<Source> {
    descriptors
        .iter()
        .filter_map(|(kind, descriptor)| match kind {
            DescriptorKind::Stdout => Some(Source::Stdout(Arc::clone(descriptor))),
            DescriptorKind::Stderr => Some(Source::Stderr(Arc::clone(descriptor))),
            DescriptorKind::Terminal => Some(Source::Terminal(Arc::clone(descriptor))),
            DescriptorKind::Input
            | DescriptorKind::NotifySocket
            | DescriptorKind::Process
            | DescriptorKind::Spec
            | DescriptorKind::ReaperNote => None,
        })
        .collect()
}
