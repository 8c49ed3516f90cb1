//! The dispatcher's side of units that report: their identity, their environment, and messages to them.

use crate::apps::{AppNotice, AppReport, Refused};
use crate::checks::prober::ProbeCommand;
use crate::guardian_link::inheritance::DescriptorKind;
use crate::handle::Claim;
use crate::runs::table::LiveRun;
use crate::supervisor::Supervisor;
use ostler_core::Event;
use ostler_core::unit::UnitEvent;
use ostler_model::{AppSpec, Check, OsText, RunId, UnitSpec, What, stable_hash};
use serde_json::{Value, json};
use std::fmt::Write;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::Arc;

const HOME_VARIABLE: &str = "OSTLER_HOME";
const NOTED_EVERY_MS: u64 = 10_000;
/// The largest integer that languages without 64-bit integers represent exactly.
const EXACT_BITS: u32 = 53;

impl Supervisor {
    /// The environment variables by which a unit can report, or call Ostler.
    pub(crate) fn ways_of(&self, spec: &UnitSpec, run: RunId) -> Vec<OsText> {
        let mut ways = Vec::new();
        let mut say =
            |name: &str, value: &str| ways.push(OsText::from(&*format!("{name}={value}")));
        if let Some(app) = &spec.app {
            let socket = self.endpoints.apps.socket();
            let socket = socket.to_string_lossy();
            for name in ["OPENCLAWOS_SOCKET", "OPENCLAWOS_KERNEL_SOCKET", "OPENCLAW_KERNEL_SOCKET"]
            {
                say(name, &socket);
            }
            say("OPENCLAWOS_APP_ID", &app.id);
            say("OPENCLAWOS_LAUNCH_SECRET", &self.endpoints.apps.proof().launch_secret(run));
            if let Some(heartbeat) = &spec.heartbeat {
                say("OSTLER_HEARTBEAT_MS", &heartbeat.interval_ms.to_string());
            }
            return ways;
        }
        // Ostler commands in the unit reach this supervisor. A container has no access, and an explicit OSTLER_HOME is
        // kept.
        let is_home = |text: &OsText| text.0.starts_with(format!("{HOME_VARIABLE}=").as_bytes());
        let is_said = spec.env.contains_key(HOME_VARIABLE) || spec.inherited.iter().any(is_home);
        if spec.container.is_none() && !is_said {
            say(HOME_VARIABLE, &self.identity.home.path().to_string_lossy());
        }
        if says_itself(spec) {
            say("NOTIFY_SOCKET", &self.identity.home.notify_socket(&spec.name).to_string_lossy());
            if let Some(heartbeat) = &spec.heartbeat {
                say("WATCHDOG_USEC", &heartbeat.timeout_ms.saturating_mul(1_000).to_string());
            }
        }
        ways
    }

    /// The unit's reports, from before its start until its end. After a supervisor restart the sockets have the same
    /// paths. A unit whose reports cannot be received is an error: it would report readiness and wait for ever.
    pub(crate) fn report_of(
        &mut self,
        unit: &str,
        run: RunId,
    ) -> io::Result<Option<Arc<AppReport>>> {
        if let Some(known) = self.endpoints.apps.get(run) {
            return Ok(Some(known));
        }
        let Some(spec) = self.core.world.unit(unit).map(|record| &record.spec) else {
            return Ok(None);
        };
        let says = says_itself(spec);
        if spec.app.is_none() && !says {
            return Ok(None);
        }
        let id = spec.app.as_ref().map(|app| app.id.clone());
        let report = Arc::new(AppReport::new(run, unit.to_owned(), id, spec.heartbeat));
        if says {
            let socket = self.open_notify_socket(unit, run)?;
            self.threads.prober.order(ProbeCommand::Receive {
                run,
                socket,
                report: Arc::clone(&report),
            })?;
        }
        self.endpoints.apps.add(Arc::clone(&report));
        Ok(Some(report))
    }

    /// The notify socket: as an earlier supervisor left it, or a new one. The guardian holds it until the unit is
    /// ready. After that it would fill up while no supervisor reads, and block a unit that sends a heartbeat every
    /// second.
    fn open_notify_socket(&mut self, unit: &str, run: RunId) -> io::Result<UnixDatagram> {
        let path = self.identity.home.notify_socket(unit);
        if let Some(held) = self.guardian.guardian_link.notify_sockets.get(&run)
            && let Ok(file) = ostler_os::SocketFile::at(&path)
        {
            let socket = held.try_clone().map(UnixDatagram::from)?;
            self.endpoints.sockets.add_notify_socket(run, file);
            return Ok(socket);
        }
        let (socket, file) = listen(&path)?;
        self.endpoints.sockets.add_notify_socket(run, file);
        if !self.core.world.is_unit_there(unit)
            && let Ok(held) = socket.try_clone()
        {
            let held = OwnedFd::from(held);
            self.guardian
                .guardian_link
                .fd_store
                .keep(&DescriptorKind::NotifySocket.name(run), &held);
            self.guardian.guardian_link.notify_sockets.insert(run, held);
        }
        Ok(socket)
    }

    /// The caller must be a process of the app's run, or know its launch secret.
    pub(crate) fn register(&mut self, claim: &Claim) -> Result<Arc<AppReport>, Refused> {
        let running = self.endpoints.apps.of_app(&claim.app);
        let has_secret = |report: &&Arc<AppReport>| {
            let proof = self.endpoints.apps.proof();
            claim.secret.as_ref().is_some_and(|secret| proof.is_launch_secret(report.run, secret))
        };
        let own = self.run_of_pid(claim.pid);
        let found = running.iter().find(has_secret);
        let found = found.or_else(|| running.iter().find(|app| Some(app.run) == own));
        if let Some(found) = found {
            return Ok(Arc::clone(found));
        }
        let mut notes = Vec::new();
        let unit_of = |run| self.core.world.record(run).and_then(|record| record.unit.clone());
        if let Some((run, unit)) = own.and_then(|run| Some((run, unit_of(run)?))) {
            let why = format!("it claimed to be {:?}, which is another app", claim.app);
            notes.push((unit, run, why));
        }
        for report in &running {
            let why = format!("process {} claimed to be this app, but is not", claim.pid);
            notes.push((report.unit.clone(), report.run, why));
        }
        for (name, run, why) in notes {
            let evidence = json!({ "pid": claim.pid, "claimed": claim.app });
            self.note_app(name, UnitEvent::Noted { run, what: What::AppRefused, why, evidence });
        }
        Err(if running.is_empty() { Refused::NotRunning } else { Refused::Stranger })
    }

    /// The run that a process belongs to, according to the kernel.
    pub(crate) fn run_of_pid(&self, pid: i32) -> Option<RunId> {
        let relations = ostler_os::origin_of(pid)?;
        // The stronger evidence first: a process in a pane descends from the tmux server, which is a run of its own.
        let named =
            relations.boundary_name().and_then(|name| name.strip_prefix("run-")?.parse().ok());
        let is_inside = |live: &&LiveRun| {
            let boundary = live.scope.as_ref().and_then(ostler_os::Scope::boundary);
            boundary.is_some_and(|boundary| relations.is_in(&boundary))
        };
        let runs = || self.runs.live.values();
        // A cgroup is usually named after its run. A run that was split off another run keeps that run's cgroup.
        let inside = named.and_then(|run: RunId| {
            self.runs.live.get(&run).filter(is_inside).or_else(|| runs().find(is_inside))
        });
        let is_in_pane = |live: &&LiveRun| {
            let pane_program = live.scope.as_ref().and_then(ostler_os::Scope::pane_program);
            pane_program.is_some_and(|pane_program| relations.descends_from(pane_program))
        };
        let is_descended = |live: &&LiveRun| {
            let first = live.process.as_ref().map(|process| process.fingerprint().pid);
            let reaper = live.scope.as_ref().and_then(ostler_os::Scope::reaper);
            let reaper = reaper.filter(|reaper| reaper.is_alive());
            let reaper = reaper.map(|reaper| reaper.fingerprint().pid);
            first.into_iter().chain(reaper).any(|above| relations.descends_from(above))
        };
        let found = inside.or_else(|| runs().find(is_in_pane));
        found.or_else(|| runs().find(is_descended)).map(|live| live.run)
    }

    /// Limits how often an app can add an entry to the journal; the next entry counts the omitted ones.
    pub(crate) fn note_app(&mut self, name: String, mut event: UnitEvent) {
        if let UnitEvent::Noted { what, why, .. } = &mut event
            && *what != What::AppRegistered
        {
            let now_ms = ostler_os::mono_ms();
            let (at_ms, more) =
                self.schedule.noted.entry((name.clone(), what.as_str())).or_default();
            if *at_ms > 0 && now_ms.saturating_sub(*at_ms) < NOTED_EVERY_MS {
                *more += 1;
                return;
            }
            *at_ms = now_ms;
            let more = std::mem::take(more);
            if more > 0 {
                let _ = write!(why, "; {more} more times since the last entry");
            }
        }
        self.core.events.push_back(Event::Unit { name, event });
    }

    /// Asks a listening app to shut down, over its socket. Returns whether it was asked.
    pub(crate) fn ask_app_to_end(&mut self, run: RunId) -> bool {
        let Some(report) = self.endpoints.apps.get(run).filter(|report| report.app.is_some())
        else {
            return false;
        };
        let timeout_ms = self.core.world.record(run).map_or(0, |record| record.grace_ms);
        let reason = "stop requested".to_owned();
        let is_reported = report.notify(AppNotice::Shutdown { timeout_ms, reason });
        if is_reported {
            let why = format!("the app has {timeout_ms} ms to clean up and exit");
            self.run_entry(run, What::AppToldToEnd, &why, json!({ "graceMs": timeout_ms }));
        }
        is_reported
    }

    /// Sends a changed configuration to a running app.
    pub(crate) fn notify_config(&self, unit: &str, app: &AppSpec) {
        let run = self.core.world.unit_run(unit);
        if let Some(report) = run.and_then(|run| self.endpoints.apps.get(run)) {
            let (config, version) = (app.config.clone(), config_version(&app.config));
            report.notify(AppNotice::Config { config, version });
        }
    }
}

/// Equal configurations have equal versions.
pub fn config_version(config: &Value) -> u64 {
    stable_hash(config.to_string().as_bytes()) >> (u64::BITS - EXACT_BITS)
}

/// True if the unit reports with sd_notify.
fn says_itself(spec: &UnitSpec) -> bool {
    // A container's shim reports for it.
    if spec.container.is_some() {
        return true;
    }
    let is_notify = matches!(&spec.ready, Some(ready) if ready.check == Check::Notify);
    spec.app.is_none() && (is_notify || spec.heartbeat.is_some())
}

pub(crate) fn listen(place: &Path) -> io::Result<(UnixDatagram, ostler_os::SocketFile)> {
    if let Some(folder) = place.parent() {
        crate::home::make_private_folder(folder)?;
    }
    ostler_os::listen_for_stop(place)
}
