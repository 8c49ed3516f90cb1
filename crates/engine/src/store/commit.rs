//! Makes decisions durable before they are carried out, and keeps them for later if that fails.

use crate::supervisor::Supervisor;
use ostler_core::Write;
use ostler_model::{Actor, Entry, Extinct, RunId, RunState, What};
use ostler_registry::{Batch, RegistryError};
use serde_json::json;
use std::io::Write as _;

/// How often writing to a failing registry is retried.
const RETRY_MS: u64 = 1_000;

/// Whether the decisions are on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durable {
    Yes,
    No,
}

impl Supervisor {
    pub(crate) fn add_to_batch(&mut self, write: Write) {
        match write {
            // A run that leaves no record has one after all if it has no boundary.
            Write::Save(record) if record.cgroup.is_some() && self.is_passing(record.run_id) => {}
            Write::Note(entry) if entry.run_id.is_some_and(|run| self.is_passing(run)) => {}
            Write::Save(record) => {
                let mut record = *record;
                if let Some(live) = self.runs.live.get(&record.run_id) {
                    record.last_output_at_ms =
                        live.output.last_wall_ms().or(record.last_output_at_ms);
                    record.output_bytes = live.output.written().max(record.output_bytes);
                }
                if record.state == RunState::Exited {
                    record.survivors = match record.extinct {
                        Extinct::Yes => Vec::new(),
                        Extinct::No => self.survivors(record.run_id),
                        Extinct::Unknown => self.strays_since(record.run_id),
                    };
                }
                self.store.batch.save(record);
            }
            Write::Note(entry) => self.store.batch.entries.push(entry),
            Write::Count(counter, value) => self.store.batch.counts.push((counter, value)),
            Write::SaveUnit(unit) => {
                self.schedule.is_timetable_old |=
                    unit.spec.schedule.is_some() || unit.spec.hooks.deadman.is_some();
                self.store.batch.units.insert(unit.spec.name.clone(), Some(unit));
            }
            Write::RemoveUnit(name) => {
                self.schedule.is_timetable_old = true;
                self.agents.kept_awake.remove(&name);
                self.store.batch.units.insert(name, None);
            }
            Write::SavePool(pool) => {
                self.store.batch.pools.insert(pool.name.clone(), Some(pool));
            }
            Write::RemovePool(name) => {
                self.store.batch.pools.insert(name, None);
            }
        }
    }

    /// Writes the batch in one transaction. If that fails, the batch is kept and retried.
    pub(crate) fn commit(&mut self) -> Durable {
        if self.store.batch.is_empty() {
            return Durable::Yes;
        }
        if self.store.retry_at.is_some() {
            self.keep_unsaved();
            return Durable::No;
        }
        match self.store.registry.commit(self.identity.instance, &mut self.store.batch) {
            Ok(()) => {
                if let Some(last) = self.store.batch.entries.last() {
                    self.store.last_seq.send_replace(last.seq);
                    let written = self.store.batch.entries.len();
                    self.store
                        .life_log
                        .notify(&self.store.batch.entries, &self.identity.home.log());
                    self.store.pruning.wrote(
                        written,
                        &self.identity.settings,
                        self.identity.home.registry(),
                    );
                }
                self.store.batch = Batch::default();
                if self.store.registry_error.take().is_some() {
                    self.entry(What::RegistryRecovered, "pending changes were written", json!({}));
                }
                Durable::Yes
            }
            Err(error) => {
                self.registry_failed(error);
                self.keep_unsaved();
                Durable::No
            }
        }
    }

    fn registry_failed(&mut self, error: RegistryError) {
        let message = error.at(self.identity.home.registry().place()).description();
        if self.store.registry_error.is_none() {
            // Our own log may be on the same full disk.
            let _ = writeln!(std::io::stderr(), "ostler: {message}");
            self.entry(What::RegistryFailed, &message, json!({}));
        }
        self.store.registry_error = Some(message);
        self.store.retry_at = Some(ostler_os::mono_ms() + RETRY_MS);
    }

    fn keep_unsaved(&mut self) {
        let batch = std::mem::take(&mut self.store.batch);
        for record in batch.runs {
            self.store.unsaved.save(record);
        }
        self.store.unsaved.entries.extend(batch.entries);
        self.store.unsaved.counts.extend(batch.counts);
        self.store.unsaved.units.extend(batch.units);
        self.store.unsaved.pools.extend(batch.pools);
    }

    pub(crate) fn retry_unsaved_writes(&mut self) {
        let new = std::mem::replace(&mut self.store.batch, std::mem::take(&mut self.store.unsaved));
        for record in new.runs {
            self.store.batch.save(record);
        }
        self.store.batch.entries.extend(new.entries);
        self.store.batch.counts.extend(new.counts);
        self.store.batch.units.extend(new.units);
        self.store.batch.pools.extend(new.pools);
    }

    pub(crate) fn entry(&mut self, what: What, why: &str, evidence: serde_json::Value) {
        self.push_entry(None, what, why, evidence);
    }

    pub(crate) fn run_entry(
        &mut self,
        run: RunId,
        what: What,
        why: &str,
        evidence: serde_json::Value,
    ) {
        self.push_entry(Some(run), what, why, evidence);
    }

    pub(crate) fn push_entry(
        &mut self,
        run_id: Option<RunId>,
        what: What,
        why: &str,
        evidence: serde_json::Value,
    ) {
        let evidence = match evidence {
            serde_json::Value::Object(map) => map,
            _ => serde_json::Map::new(),
        };
        self.store.batch.entries.push(Entry {
            seq: 0,
            at_ms: ostler_os::wall_ms(),
            who: Actor::Supervisor,
            what,
            run_id,
            why: why.to_owned(),
            evidence,
        });
    }
}
