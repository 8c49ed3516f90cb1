//! A unit in a tmux session: its run is a shim, whose environment says which session to create. The shim writes notes about
//! what the kernel does not report: the process in the pane, and why it ended.

use crate::backends::{Connection, RunBackend, pipe};
use crate::home::make_private_folder;
use crate::output::Screen;
use crate::supervisor::Supervisor;
use ostler_model::{
    Limits, OsText, PaneRecord, RunId, RunRecord, RunSpec, TerminalSize, TmuxEnd, TmuxEndKind,
    TmuxOrder, TmuxOwner, TmuxSpec, UnitSpec, What,
};
use serde_json::json;
use std::path::PathBuf;

/// A tmux session. Its run is a shim.
pub(super) struct TmuxBackend;

impl RunBackend for TmuxBackend {
    fn connect(&self, spec: &RunSpec) -> std::io::Result<Connection> {
        pipe::connect(spec)
    }

    fn is_shim(&self) -> bool {
        true
    }

    fn screen(&self, spec: &RunSpec, pane_note: Option<PathBuf>) -> Option<Screen> {
        pane_note.map(|note| Screen::new(spec.size).pane_program(note))
    }

    fn prepare(
        &self,
        supervisor: &Supervisor,
        unit: &UnitSpec,
        run: RunId,
        _digest: &str,
        spec: &mut RunSpec,
    ) {
        supervisor.make_session_run(unit, run, spec);
    }

    fn pane_note(&self, supervisor: &Supervisor, record: &RunRecord) -> Option<PathBuf> {
        Some(supervisor.pane_notes(record.unit.as_deref()?, ".pane"))
    }

    fn shown_pid(&self, supervisor: &Supervisor, record: &RunRecord) -> Option<i32> {
        let note = supervisor.runs.live.get(&record.run_id)?.scope.as_ref()?.pane_note()?;
        ostler_os::PaneNote::read(note).map(|pane_program| pane_program.pid)
    }

    fn run_ended(&self, supervisor: &mut Supervisor, record: &RunRecord) {
        supervisor.close_session(record);
    }
}

impl Supervisor {
    /// Makes the run of a unit the run of its session's shim.
    fn make_session_run(&self, unit: &UnitSpec, run: RunId, spec: &mut RunSpec) {
        let Some(tmux) = unit.tmux.as_deref() else { return };
        let order = TmuxOrder {
            spec: tmux.clone(),
            argv: spec.argv.iter().map(OsText::shown).collect(),
            cwd: unit.cwd.clone(),
            stop_signal: unit.stop.signal,
            grace_ms: unit.stop.grace_ms,
            home: self.identity.instance.to_string(),
            unit: unit.name.clone(),
            run: run.to_string(),
            notes: self.pane_notes(&unit.name, "").display().to_string(),
            own_sockets: match tmux.server {
                TmuxOwner::Ours => Some(self.make_sockets(&unit.name)),
                TmuxOwner::Other => None,
            },
        };
        let Ok(order) = serde_json::to_string(&order) else { return };
        let Ok(program) = ostler_os::own_executable() else { return };
        spec.argv = vec![
            OsText(program.into_os_string().into_encoded_bytes()),
            OsText::from("shim"),
            OsText::from(&*unit.name),
        ];
        spec.env.push(OsText::from(&*format!("{}={order}", TmuxOrder::VARIABLE)));
        spec.size = tmux.size;
        spec.limits.grace_ms = spec.limits.grace_ms.saturating_add(CLOSE_MS);
    }

    /// A folder for a tmux server that the program starts itself; that server ends with the run. If the folder cannot be created, the
    /// program's tmux fails, which is better than a session without an owner.
    fn make_sockets(&self, unit: &str) -> String {
        let place = self.identity.home.sockets_of(unit);
        let above = place.parent().map(make_private_folder);
        if above.is_none_or(|above| above.is_ok()) {
            let _ = make_private_folder(&place);
        }
        place.display().to_string()
    }

    /// No server of tmux or podman is started or used in a folder where another user could answer in its place.
    pub(crate) fn secure_sockets_of(&self, unit: &str) -> std::io::Result<()> {
        let Some(spec) = self.core.world.unit(unit).map(|record| &record.spec) else {
            return Ok(());
        };
        if spec.tmux.is_none() && spec.part.is_none() {
            return Ok(());
        }
        self.identity.home.secure_folder_of(&self.identity.home.tmux_socket())?;
        self.identity.home.secure_folder_of(&self.identity.home.podman_socket())
    }

    /// The paths of a session shim's notes.
    fn pane_notes(&self, unit: &str, end: &str) -> PathBuf {
        let folder = self.identity.home.path().join(TmuxOrder::FOLDER);
        let _ = std::fs::create_dir_all(&folder);
        folder.join(format!("{}{end}", TmuxOrder::note_name(unit)))
    }

    /// How the session of an ended run ended.
    fn close_session(&mut self, record: &RunRecord) {
        let Some(unit) = record.unit.clone() else { return };
        let note = self.pane_notes(&unit, ".end");
        let end = std::fs::read(&note).ok().and_then(|text| serde_json::from_slice(&text).ok());
        if let Some(end) = end.filter(|end: &TmuxEnd| end.run == record.run_id.to_string()) {
            let what = match end.kind {
                TmuxEndKind::Refused => What::Refused,
                TmuxEndKind::Failed => What::SpawnFailed,
                TmuxEndKind::Taken => What::RootExited,
            };
            self.run_entry(record.run_id, what, &end.why, json!({ "unit": record.unit }));
        }
        let _ = std::fs::remove_file(note);
        let _ = std::fs::remove_dir_all(self.identity.home.sockets_of(&unit));
        self.sweep_session(&unit);
    }

    /// A shim that was killed left its session, as its note says. If its unit will be started again, the session is closed
    /// by the next shim.
    fn sweep_session(&mut self, unit: &str) {
        let Some(pane) = self.pane_left(unit) else { return };
        if pane.is_closed {
            let _ = std::fs::remove_file(self.pane_notes(unit, ".pane"));
            return;
        }
        if self.life.stopping || self.is_to_run(unit) || self.sweep_of(unit).is_some() {
            return;
        }
        let order = TmuxOrder {
            spec: TmuxSpec {
                session: pane.session,
                socket: pane.socket,
                server: TmuxOwner::Other,
                size: TerminalSize::default(),
                program: Some(pane.program),
                is_ready_once_started: false,
            },
            argv: Vec::new(),
            cwd: "/".to_owned(),
            stop_signal: TERM,
            grace_ms: Limits::DEFAULT_GRACE_MS,
            home: pane.home,
            unit: unit.to_owned(),
            run: pane.run,
            notes: self.pane_notes(unit, "").display().to_string(),
            own_sockets: None,
        };
        let Ok(order) = serde_json::to_string(&order) else { return };
        let order = OsText::from(&*format!("{}={order}", TmuxOrder::VARIABLE));
        self.sweep_after(unit, vec![order]);
    }

    fn pane_left(&self, unit: &str) -> Option<PaneRecord> {
        let text = std::fs::read_to_string(self.pane_notes(unit, ".pane")).ok()?;
        serde_json::from_str(text.split_once('\n')?.1).ok()
    }

    /// Removes what shims left while there was no supervisor, or when they died with it.
    pub(crate) fn sweep_sessions(&mut self) {
        let Ok(entries) = std::fs::read_dir(self.identity.home.path().join(TmuxOrder::FOLDER))
        else {
            return;
        };
        let units = entries.flatten().filter_map(|entry| {
            let name = entry.file_name();
            self.pane_left(name.to_str()?.strip_suffix(".pane")?).map(|pane| pane.unit)
        });
        for unit in units.collect::<Vec<_>>() {
            if self.core.world.unit_run(&unit).is_none() {
                self.sweep_session(&unit);
            }
        }
    }
}

const TERM: i32 = 15;
/// The time that tmux may need to report the end and to close a session, beyond the program's own grace period.
const CLOSE_MS: u64 = 10_000;

/// The warning if a unit needs a session, and tmux was missing when it was declared.
pub(crate) fn lacks_tmux(unit: &UnitSpec) -> Option<&'static str> {
    let tmux = unit.tmux.as_deref()?;
    tmux.program.is_none().then_some("there is no tmux on the PATH: it has a terminal of ours")
}
