//! A unit that is a container: its run is the shim, which is told in its environment what to make.

use crate::dispatcher::Supervisor;
use crate::units::run_spec;
use ostler_core::MemorySeen;
use ostler_model::{
    Actor, Backend, ContainerEnd, ContainerEndKind, ContainerOrder, Desired, OsText, Resources,
    RunId, RunRecord, RunSpec, Termination, UnitSpec, What,
};
use serde_json::json;
use std::path::PathBuf;

impl Supervisor {
    /// Makes the run of a unit the run of its container's shim.
    pub(crate) fn contain(&self, unit: &UnitSpec, run: RunId, digest: &str, spec: &mut RunSpec) {
        let Some(container) = &unit.container else { return };
        let order = ContainerOrder {
            spec: (**container).clone(),
            env: unit.env.clone(),
            resources: unit.resources,
            stop_signal: unit.stop.signal,
            grace_ms: unit.stop.grace_ms,
            home: self.instance.to_string(),
            unit: unit.name.clone(),
            run: run.to_string(),
            digest: digest.to_owned(),
            notes: self.notes_of(&unit.name).display().to_string(),
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
        let folder = self.home.path().join("containers");
        let _ = std::fs::create_dir_all(&folder);
        folder.join(unit.replace('/', "_"))
    }

    fn end_note_of(&self, unit: &str) -> PathBuf {
        let mut name = self.notes_of(unit).into_os_string();
        name.push(".end");
        PathBuf::from(name)
    }

    /// What the shim said as it ended.
    fn end_of_container(&self, record: &RunRecord) -> Option<ContainerEnd> {
        let unit = record.unit.as_deref().filter(|_| record.backend_id == Backend::Container)?;
        let text = std::fs::read(self.end_note_of(unit)).ok()?;
        let end: ContainerEnd = serde_json::from_slice(&text).ok()?;
        (end.run == record.run_id.to_string()).then_some(end)
    }

    /// The kernel counts a container's memory in a group that is not of its run: the shim's word counts.
    pub(crate) fn memory_of_container(&self, run: RunId) -> Option<MemorySeen> {
        let end = self.end_of_container(self.world.record(run)?)?;
        (end.kind == ContainerEndKind::OutOfMemory).then_some(MemorySeen {
            kills: 1,
            peak_bytes: None,
            excess_bytes: None,
        })
    }

    /// What became of the container of a run that is over.
    pub(crate) fn close_container(&mut self, record: &RunRecord) {
        if let Some(end) = self.end_of_container(record) {
            let what = match end.kind {
                // Told already, with its count.
                ContainerEndKind::OutOfMemory => None,
                ContainerEndKind::Refused => Some(What::Refused),
                ContainerEndKind::Failed => Some(What::SpawnFailed),
                ContainerEndKind::Removed => Some(What::RootExited),
            };
            if let Some(what) = what {
                self.run_entry(record.run_id, what, &end.why, json!({ "unit": record.unit }));
            }
        }
        if let (Backend::Container, Some(unit)) = (record.backend_id, &record.unit) {
            let _ = std::fs::remove_file(self.end_note_of(unit));
        }
        self.sweep_container(record);
    }

    /// A shim that had to be killed left its container to the engine: somebody has to see to it that it is removed,
    /// as soon as the engine answers. One that is to be started again is taken up instead.
    fn sweep_container(&mut self, record: &RunRecord) {
        let was_killed =
            record.exit_signal == Some(KILL) && record.termination != Some(Termination::Signal);
        if record.backend_id != Backend::Container || !was_killed {
            return;
        }
        let Some(unit) = record.unit.as_deref().and_then(|name| self.world.unit(name)) else {
            return;
        };
        if unit.desired == Desired::Running {
            return;
        }
        let (spec, digest) = (unit.spec.clone(), unit.run_digest.clone());
        let mut sweep = run_spec(&spec);
        self.contain(&spec, record.run_id, &digest, &mut sweep);
        sweep.argv.push(OsText::from("--sweep"));
        sweep.session_id = RunSpec::CHECK_SESSION.to_owned();
        sweep.unit = None;
        sweep.scope_key = Some(format!("sweep {}", spec.name));
        sweep.backend = Backend::Pipe;
        let _ = self.new_run(Box::new(sweep), Actor::Supervisor);
    }
}

const KILL: i32 = 9;
/// What the engine may need to end and remove a container, beyond the container's own grace.
const ENGINE_MS: u64 = 5_000;
