//! A unit that is a container: its run is a shim, whose environment says which container to make.

use crate::backends::{Connection, RunBackend, pipe};
use crate::supervisor::{Supervisor, now};
use crate::units::scope_key;
use ostler_core::{Event, MemorySeen};
use ostler_model::{
    Actor, Backend, ContainerEnd, ContainerEndKind, ContainerMade, ContainerOrder, Detach, Limits,
    OsText, Resources, RunId, RunRecord, RunSpec, TerminalSize, UnitSpec, UnitState, What,
};
use serde_json::json;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A container of docker's or podman's that a shim stands for.
pub(super) struct ContainerBackend;

impl RunBackend for ContainerBackend {
    fn connect(&self, spec: &RunSpec) -> std::io::Result<Connection> {
        pipe::connect(spec)
    }

    fn is_shim(&self) -> bool {
        true
    }

    fn prepare(
        &self,
        supervisor: &Supervisor,
        unit: &UnitSpec,
        run: RunId,
        digest: &str,
        spec: &mut RunSpec,
    ) {
        supervisor.make_container_run(unit, run, digest, spec);
    }

    /// The kernel counts a container's memory in a cgroup that is not of its run, so the shim's note counts.
    fn memory(&self, supervisor: &Supervisor, record: &RunRecord) -> Option<MemorySeen> {
        let end = supervisor.end_of_container(record)?;
        (end.kind == ContainerEndKind::OutOfMemory).then_some(MemorySeen {
            kills: 1,
            peak_bytes: None,
            excess_bytes: None,
        })
    }

    fn run_ended(&self, supervisor: &mut Supervisor, record: &RunRecord) {
        supervisor.close_container(record);
    }
}

impl Supervisor {
    /// Makes the run of a unit the run of its container's shim.
    pub(crate) fn make_container_run(
        &self,
        unit: &UnitSpec,
        run: RunId,
        digest: &str,
        spec: &mut RunSpec,
    ) {
        let Some(container) = &unit.container else { return };
        let order = ContainerOrder {
            spec: (**container).clone(),
            env: unit.env.clone(),
            resources: unit.resources,
            stop_signal: unit.stop.signal,
            grace_ms: unit.stop.grace_ms,
            home: self.identity.instance.to_string(),
            unit: unit.name.clone(),
            run: run.to_string(),
            digest: digest.to_owned(),
            notes: self.notes_of(&unit.name).display().to_string(),
            file: unit.file.clone(),
        };
        let Ok(order) = serde_json::to_string(&order) else { return };
        let Ok(program) = ostler_os::own_executable() else { return };
        spec.argv = vec![
            OsText(program.into_os_string().into_encoded_bytes()),
            OsText::from("shim"),
            OsText::from(&*unit.name),
        ];
        // What is declared for the container is no matter of its shim.
        spec.env = unit.inherited.to_vec();
        spec.env.push(OsText::from(&*format!("{}={order}", ContainerOrder::VARIABLE)));
        spec.env.extend(self.ways_of(unit, run));
        // The engine keeps it to them; the shim needs its own.
        spec.resources = Resources::default();
        spec.limits.grace_ms = spec.limits.grace_ms.saturating_add(ENGINE_MS);
    }

    /// Where a container's shim keeps what outlives it.
    fn notes_of(&self, unit: &str) -> PathBuf {
        let folder = self.identity.home.path().join("containers");
        let _ = std::fs::create_dir_all(&folder);
        folder.join(unit.replace('/', "_"))
    }

    pub(crate) fn note_of(&self, unit: &str, end: &str) -> PathBuf {
        let mut name = self.notes_of(unit).into_os_string();
        name.push(end);
        PathBuf::from(name)
    }

    fn end_note_of(&self, unit: &str) -> PathBuf {
        self.note_of(unit, ".end")
    }

    /// What the shim said as it ended.
    fn end_of_container(&self, record: &RunRecord) -> Option<ContainerEnd> {
        let unit = record.unit.as_deref()?;
        let text = std::fs::read(self.end_note_of(unit)).ok()?;
        let end: ContainerEnd = serde_json::from_slice(&text).ok()?;
        (end.run == record.run_id.to_string()).then_some(end)
    }

    /// What became of the container of a run that is over.
    fn close_container(&mut self, record: &RunRecord) {
        if let Some(end) = self.end_of_container(record) {
            let what = match end.kind {
                // Told already, with its count.
                ContainerEndKind::OutOfMemory => None,
                ContainerEndKind::Refused => Some(What::Refused),
                ContainerEndKind::Failed => Some(What::SpawnFailed),
                ContainerEndKind::Removed => Some(What::RootExited),
                ContainerEndKind::Left => Some(What::Detached),
            };
            if let Some(what) = what {
                self.run_entry(record.run_id, what, &end.why, json!({ "unit": record.unit }));
            }
        }
        if let Some(unit) = &record.unit {
            let _ = std::fs::remove_file(self.end_note_of(unit));
            self.sweep_container(unit);
        }
    }

    /// A shim that was killed, or could not remove its container in time, left it to the engine: somebody has to see
    /// to it as soon as the engine answers. One whose unit is to be started again is taken up instead, and one that left
    /// the list of agents runs on.
    pub(crate) fn sweep_container(&mut self, unit: &str) {
        let Some(made) = self.made_of(unit) else { return };
        if self.life.stopping || self.is_to_run(unit) || self.sweep_of(unit).is_some() {
            return;
        }
        if made.is_left {
            return self.watch_left(unit, made);
        }
        if let Some(env) = way_to(made) {
            self.sweep_after(unit, env);
        }
    }

    pub(crate) fn made_of(&self, unit: &str) -> Option<ContainerMade> {
        let text = std::fs::read(self.note_of(unit, ".made")).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Every container that may be there.
    pub(crate) fn all_made(&self) -> Vec<ContainerMade> {
        let folder = self.identity.home.path().join("containers");
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let made = entries.flatten().filter_map(|entry| {
            entry.file_name().to_str()?.strip_suffix(".made")?;
            serde_json::from_slice(&std::fs::read(entry.path()).ok()?).ok()
        });
        made.collect()
    }

    /// A run that removes what shims of this unit left.
    pub(crate) fn sweep_after(&mut self, unit: &str, env: Vec<OsText>) {
        let sweep = beside(unit, "--sweep", RunSpec::CHECK_SESSION, env);
        let _ = sweep.and_then(|sweep| self.new_run(sweep, Actor::Supervisor).ok());
    }

    pub(crate) fn is_to_run(&self, unit: &str) -> bool {
        let views = self.core.world.unit_views(now());
        views.into_iter().find(|view| view.name == unit).is_some_and(|view| match view.state {
            UnitState::Waiting
            | UnitState::Starting
            | UnitState::Ready
            | UnitState::Stopping
            | UnitState::Queued
            | UnitState::Backoff => true,
            UnitState::Stopped
            | UnitState::Error
            | UnitState::Done
            | UnitState::Scheduled
            | UnitState::Suspended => false,
        })
    }

    pub(crate) fn sweep_of(&self, unit: &str) -> Option<RunId> {
        let key = scope_key(unit);
        let is_sweep = |record: &&RunRecord| {
            record.unit.is_none() && record.scope_key.as_deref() == Some(&*key)
        };
        self.core.world.records().find(is_sweep).map(|record| record.run_id)
    }

    /// A shim that begins sees for itself to what its predecessors left.
    pub(crate) fn end_sweep(&mut self, unit: &str) {
        if let Some(run) = self.sweep_of(unit) {
            if self.is_left_watched(unit) {
                self.leave_container(unit);
            }
            let why = "its unit is started again";
            self.core.events.push_back(Event::CancelAsked {
                run,
                by: Actor::Supervisor,
                why,
                said: None,
            });
        }
    }

    /// What shims left behind while there was no supervisor, or when one went with them. These left the list of agents.
    pub(crate) fn sweep_containers(&mut self, gone: &[String]) {
        for made in self.all_made() {
            let unit = made.order.unit.clone();
            if self.core.world.unit_run(&unit).is_some() || self.sweep_of(&unit).is_some() {
                continue;
            }
            if gone.contains(&unit) {
                self.watch_left(&unit, made);
            } else {
                self.sweep_container(&unit);
            }
        }
    }
}

/// What a shim needs to find a container that was made.
pub(crate) fn way_to(made: ContainerMade) -> Option<Vec<OsText>> {
    let ContainerMade { order, environment, .. } = made;
    let order = serde_json::to_string(&order).ok()?;
    let environment =
        environment.into_iter().map(|(name, value)| OsText::from(&*format!("{name}={value}")));
    let order = OsText::from(&*format!("{}={order}", ContainerOrder::VARIABLE));
    Some(environment.chain([order]).collect())
}

/// A run of our own that sees to what a unit's shims left. It is never there beside a shim of the unit.
pub(crate) fn beside(
    unit: &str,
    what: &str,
    session: &str,
    env: Vec<OsText>,
) -> Option<Box<RunSpec>> {
    let program = ostler_os::own_executable().ok()?;
    let program = OsText(program.into_os_string().into_encoded_bytes());
    Some(Box::new(RunSpec {
        run_id: None,
        argv: vec![program, "shim".into(), unit.into(), what.into()],
        cwd: "/".into(),
        env,
        umask: 0o077,
        backend: Backend::Pipe,
        size: TerminalSize::default(),
        stdin: false,
        session_id: session.to_owned(),
        unit: None,
        scope_key: Some(scope_key(unit)),
        limits: Limits::default(),
        resources: Resources::default(),
        pool: None,
        detach: Detach::Forbid,
        keep: false,
        foreground: false,
    }))
}

/// As much as is read of a list when it is declared.
const LIST_MOST: u64 = 256 << 10;

/// Those that a list of agents no longer has. A list that cannot be read has everybody.
pub(crate) fn unlisted<'a>(units: impl Iterator<Item = &'a UnitSpec>) -> Vec<String> {
    let mut lists: HashMap<&str, Option<String>> = HashMap::new();
    let mut gone = Vec::new();
    for unit in units {
        let container = unit.container.as_deref();
        let Some(listed) = container.and_then(|own| own.listed.as_ref()) else { continue };
        let list = lists.entry(&listed.file).or_insert_with(|| {
            match ostler_sys::read_regular(Path::new(&listed.file), LIST_MOST) {
                Err(error) if error.kind() == ErrorKind::NotFound => Some("{}".to_owned()),
                list => list.ok().and_then(|list| String::from_utf8(list).ok()),
            }
        });
        if list.as_deref().and_then(|text| listed.is_in(text)) == Some(false) {
            gone.push(unit.name.clone());
        }
    }
    gone
}

/// What the engine may need to end and remove a container, beyond the container's own grace.
pub(crate) const ENGINE_MS: u64 = 5_000;
