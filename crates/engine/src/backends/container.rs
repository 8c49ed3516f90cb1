//! A unit that is a container: its run is a shim, whose environment says which container to make.

use crate::backends::{Connection, RunBackend, pipe};
use crate::supervisor::{Supervisor, now};
use crate::units::scope_key;
use ostler_core::{Event, MemorySeen};
use ostler_model::{
    Actor, Backend, ContainerEnd, ContainerEndKind, ContainerMade, ContainerOrder, Detach, Limits,
    OsText, Purpose, Resources, RunId, RunRecord, RunSpec, TerminalSize, UnitSpec, UnitState, What,
};
use serde_json::json;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A container of docker or podman. Its run is a shim.
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

    /// The kernel counts a container's memory in a cgroup outside of the run, so the shim's note is used.
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
        // These keys apply to the container, not to its shim.
        spec.env = unit.inherited.to_vec();
        spec.env.push(OsText::from(&*format!("{}={order}", ContainerOrder::VARIABLE)));
        spec.env.extend(self.ways_of(unit, run));
        // The engine enforces the limits; the shim has none.
        spec.resources = Resources::default();
        spec.limits.grace_ms = spec.limits.grace_ms.saturating_add(ENGINE_MS);
    }

    /// The path of the note of a container's shim, which outlives the shim.
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

    /// The shim's last report.
    fn end_of_container(&self, record: &RunRecord) -> Option<ContainerEnd> {
        let unit = record.unit.as_deref()?;
        let text = std::fs::read(self.end_note_of(unit)).ok()?;
        let end: ContainerEnd = serde_json::from_slice(&text).ok()?;
        (end.run == record.run_id.to_string()).then_some(end)
    }

    /// How the container of an ended run ended.
    fn close_container(&mut self, record: &RunRecord) {
        if let Some(end) = self.end_of_container(record) {
            let what = match end.kind {
                // Already journaled, with the count of kills.
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

    /// The container of a shim that was killed, or could not remove it in time, still exists: it is removed
    /// as soon as the engine answers. If its unit will be started again, the next shim continues with it; if it left
    /// the list of agents, it runs on.
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

    /// Every container that may exist.
    pub(crate) fn all_made(&self) -> Vec<ContainerMade> {
        let folder = self.identity.home.path().join("containers");
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let made = entries.flatten().filter_map(|entry| {
            entry.file_name().to_str()?.strip_suffix(".made")?;
            serde_json::from_slice(&std::fs::read(entry.path()).ok()?).ok()
        });
        made.collect()
    }

    /// Starts a run that removes the containers that shims of this unit left.
    pub(crate) fn sweep_after(&mut self, unit: &str, env: Vec<OsText>) {
        let sweep = beside(unit, "--sweep", Purpose::Sweep, env);
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

    /// A new shim removes itself what its predecessors left.
    pub(crate) fn end_sweep(&mut self, unit: &str) {
        if let Some(run) = self.sweep_of(unit) {
            if self.is_left_watched(unit) {
                self.leave_container(unit);
            }
            let why = "its unit is started again";
            self.core.events.push_back(Event::CancelRequested {
                run,
                by: Actor::Supervisor,
                why,
                said: None,
            });
        }
    }

    /// Removes what shims left while there was no supervisor, or when they died with it. Containers that left the list of agents run on.
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

/// The data with which a shim finds an existing container.
pub(crate) fn way_to(made: ContainerMade) -> Option<Vec<OsText>> {
    let ContainerMade { order, environment, .. } = made;
    let order = serde_json::to_string(&order).ok()?;
    let environment =
        environment.into_iter().map(|(name, value)| OsText::from(&*format!("{name}={value}")));
    let order = OsText::from(&*format!("{}={order}", ContainerOrder::VARIABLE));
    Some(environment.chain([order]).collect())
}

/// A run that removes what a unit's shims left. It never exists together with a shim of the unit.
pub(crate) fn beside(
    unit: &str,
    what: &str,
    purpose: Purpose,
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
        session_id: String::new(),
        purpose,
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

/// The same limit as for a declared list.
const LIST_MOST: u64 = 256 << 10;

/// The agents that a list no longer has. For an unreadable list: none.
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

/// The time that the engine may need to end and remove a container, beyond the container's own grace period.
pub(crate) const ENGINE_MS: u64 = 5_000;
