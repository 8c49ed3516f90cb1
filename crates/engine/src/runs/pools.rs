//! The engine's part of pools: which names are valid, and replies to callers whose run has to wait.

use crate::guardian_link::inheritance::DescriptorKind;
use crate::supervisor::Supervisor;
use crate::units::Declaration;
use ostler_core::{Event, NewRun};
use ostler_model::{Actor, PoolSpec, RunId, RunRecord, RunSpec, RunState};
use std::sync::Arc;
use thiserror::Error;
use tokio::sync::oneshot;

/// Why nothing was declared or started.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PoolRefused {
    #[error("there is no pool {name:?}; {}", describe_known(.known, .name))]
    Unknown { name: String, known: Vec<String> },
    #[error(
        "pool {name:?} is already declared in {file}; remove [pools.{name}] from this file (its units may still use the pool), or rename it"
    )]
    Elsewhere { name: String, file: String },
}

fn describe_known(known: &[String], name: &str) -> String {
    let how = format!("add [pools.{name}] to ostler.toml and run `ostler up`");
    match known {
        [] => format!("no pools are declared: {how}"),
        known => format!("known pools: {}; to declare it, {how}", known.join(", ")),
    }
}

fn is_file(path: &str) -> bool {
    std::path::Path::new(path).is_file()
}

impl Supervisor {
    /// Checks that the pool is declared, or is among the new ones.
    pub(crate) fn knows_pool(
        &self,
        name: Option<&str>,
        new: &[PoolSpec],
    ) -> Result<(), PoolRefused> {
        let Some(name) = name else { return Ok(()) };
        let mut known: Vec<String> =
            self.core.world.pool_specs().chain(new).map(|spec| spec.name.clone()).collect();
        known.sort();
        known.dedup();
        if known.iter().any(|other| other == name) {
            return Ok(());
        }
        Err(PoolRefused::Unknown { name: name.to_owned(), known })
    }

    /// A pool belongs to one file, and every unit names an existing pool.
    pub(crate) fn may_declare(&self, declaration: &Declaration) -> Result<(), PoolRefused> {
        let Declaration { units, pools, file, .. } = declaration;
        for new in pools {
            let other = self.core.world.pool_specs().find(|known| known.name == new.name);
            // A file that no longer exists declares nothing.
            let other = other.and_then(|known| known.file.clone()).filter(|other| is_file(other));
            if let Some(other) = other.filter(|other| Some(other) != file.as_ref()) {
                return Err(PoolRefused::Elsewhere { name: new.name.clone(), file: other });
            }
        }
        units.iter().try_for_each(|unit| self.knows_pool(unit.pool.as_deref(), pools))
    }

    /// Replies that the run waits, unless it got a place in the same turn.
    pub(crate) fn answer_queued(&mut self, run: RunId) {
        let Some(record) = self.core.world.record(run) else { return };
        if record.state != RunState::Queued {
            return;
        }
        let shown = self.shown(record);
        self.keep_spec(run);
        if let Some(reply) = self.waiting.spawn_replies.remove(&run) {
            let _ = reply.send(Ok(shown));
        }
    }

    /// The next supervisor can start the run only with its spec, whose environment may hold secrets. So the spec is
    /// kept only in memory, with the guardian. Without a guardian, the run ends unstarted with this supervisor.
    fn keep_spec(&mut self, run: RunId) {
        let Some(live) = self.runs.live.get_mut(&run) else { return };
        let kept = live.spec.as_ref().and_then(|spec| serde_json::to_vec(spec).ok());
        if let Some(Ok(kept)) = kept.map(|bytes| ostler_os::memory_file(&bytes)) {
            live.descriptors = vec![(DescriptorKind::Spec, Arc::new(kept))];
            let descriptors = live.descriptors.clone();
            self.keep_descriptors(run, &descriptors);
        }
    }

    /// Queues a run that waited for a place when an earlier supervisor ended. False if its spec was not kept.
    pub(crate) fn requeue(&mut self, record: &RunRecord) -> bool {
        let run = record.run_id;
        if record.state != RunState::Queued {
            return false;
        }
        let Some(kept) =
            self.guardian.guardian_link.inheritance.take_of_run(run, DescriptorKind::Spec)
        else {
            return false;
        };
        let spec = ostler_os::read_memory_file(kept).ok();
        let Some(spec) = spec.and_then(|bytes| serde_json::from_slice::<RunSpec>(&bytes).ok())
        else {
            return false;
        };
        let (limits, detach) = (spec.limits, spec.detach);
        self.add_live(run, Box::new(spec), None, false);
        self.guardian.guardian_link.fd_store.let_go(&DescriptorKind::Spec.name(run));
        self.keep_spec(run);
        let new = NewRun { by: Actor::Supervisor, record: record.clone(), limits, detach };
        self.core.events.push_back(Event::Requeued(Box::new(new)));
        true
    }

    pub(crate) fn await_start(&mut self, run: RunId, reply: oneshot::Sender<()>) {
        let waits = self.core.world.record(run).is_some_and(|record| match record.state {
            RunState::Queued | RunState::Starting => true,
            RunState::Running | RunState::Exiting | RunState::Exited => false,
        });
        if waits {
            self.waiting.start_waiters.entry(run).or_default().push(reply);
        } else {
            let _ = reply.send(());
        }
    }

    /// The run is executing, or never will.
    pub(crate) fn answer_start_waiters(&mut self, run: RunId) {
        for waiter in self.waiting.start_waiters.remove(&run).unwrap_or_default() {
            let _ = waiter.send(());
        }
    }
}
