//! Compares the records with the kernel's state: at start, and when the lease of another instance expires.

use crate::backends::container::unlisted;
use crate::error::EngineError;
use crate::guardian_link::status_of;
use crate::supervisor::{Activity, Supervisor, now};
use ostler_core::{
    Claim, Event, ExitStatus, Gone, Identity, Observation, Ownership, Streams, may_steal,
};
use ostler_model::{Actor, InstanceId, RunId, RunRecord, What};
use ostler_os::{Leader, Process, RunReaper, ScopeFactory};
use ostler_registry::Claims;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

const PRUNE_EVERY_MS: u64 = 600_000;
/// How long a write waits for a program that has locked the registry. What could not be written is tried again.
const LOCKED_MOST: Duration = Duration::from_millis(500);

impl Supervisor {
    /// Decides about every record that is not exited, and writes the decision to the journal.
    pub(crate) fn reconcile(&mut self) -> Result<(), EngineError> {
        self.entry(
            What::SupervisorStarted,
            &format!("pid {} for {}", std::process::id(), self.identity.home.path().display()),
            json!({ "pid": std::process::id(), "instance": self.identity.instance, "boundary": self.platform.scopes.why_no_boundary().unwrap_or("cgroup") }),
        );
        self.store.registry.renew(self.identity.instance, &self.own_claims())?;
        self.store.registry.wait_for_locks(LOCKED_MOST)?;
        let mut units = self.store.registry.units(self.identity.instance)?;
        units.iter_mut().for_each(crate::units::renew_digests);
        let gone = unlisted(units.iter().map(|record| &record.spec));
        let boot_id = ostler_os::boot_id().to_owned();
        let pools = self.store.registry.pools(self.identity.instance)?;
        self.agents.sessions = self.store.registry.sessions(self.identity.instance)?;
        self.core.events.push_back(Event::UnitsKnown { records: units, pools, boot_id });
        let mut records = self.store.registry.live()?;
        // The bytes in the splice pipe must be written before new ones enter it.
        let leftover = self.guardian.guardian_link.leftover_run();
        records.sort_by_key(|record| Some(record.run_id) != leftover);
        let claims = self.store.registry.claims()?;
        let mut recorded: HashSet<String> = HashSet::new();
        let mut others = Vec::new();
        if !records.is_empty() {
            let roots = records.iter().filter(|record| record.boot_id == ostler_os::boot_id());
            self.runs.adopted_roots = roots.filter_map(|record| record.pid).collect();
            let mut observed = Vec::new();
            for mut record in records {
                recorded.extend(record.cgroup.clone());
                recorded.extend(record.enforced.iter().flat_map(|held| held.groups.clone()));
                let ownership = self.ownership(&record, &claims);
                if ownership != Ownership::Ours {
                    others.push(record.run_id);
                    let leaf = record.cgroup.as_ref().map(PathBuf::from);
                    self.runs.strays.known_boundaries.extend(leaf);
                }
                let is_same_boot = record.boot_id == ostler_os::boot_id();
                if ownership == Ownership::Ours && is_same_boot && self.requeue(&record) {
                    continue;
                }
                let seen = self.observe(&mut record, ownership);
                observed.push((record, seen));
            }
            // A process that is in no known run is a stray, so the runs that are adopted come before those that are gone.
            observed.sort_by_key(|(record, seen)| {
                Some(record.run_id) != leftover && seen.identity.is_none() && seen.tree.is_empty()
            });
            for (record, seen) in observed {
                self.core.events.push_back(Event::Observed { record: Box::new(record), seen });
            }
        }
        if !gone.is_empty() {
            let by = Actor::Supervisor;
            let (declared, start) = (Vec::new(), false);
            for unit in &gone {
                self.leave_container(unit);
            }
            let gone = gone.clone();
            self.core.events.push_back(Event::UnitsDeclared { declared, gone, start, by });
        }
        // From here on, each unit's record says whether it stays stopped.
        self.core.events.push_back(Event::Reconciled { begin: !self.identity.home.take_stopped() });
        self.clear_unrecorded(&recorded);
        let unkillable =
            self.store.registry.unkillable(self.identity.instance, ostler_os::boot_id())?;
        self.remember_unkillable(&unkillable);
        self.end_forgotten();
        self.turn();
        self.wake_those_with_work();
        self.end_unrecorded();
        self.let_go_rest(&others);
        self.sweep_containers(&gone);
        self.sweep_sessions();
        self.prune();
        self.forget_old_mail();
        self.forget_old_sessions();
        self.clear_unrecorded_logs()
    }

    /// Removes output without a record: a crash between the two removals leaves it behind.
    fn clear_unrecorded_logs(&mut self) -> Result<(), EngineError> {
        let known = self.store.registry.known()?;
        for (run, folder) in self.identity.home.run_folders() {
            if !known.contains(&run) {
                self.threads.output_writer.remove_folder(folder);
            }
        }
        Ok(())
    }

    /// Removes our cgroups without a live record: the record ended, but the cgroup was not removed yet.
    fn clear_unrecorded(&mut self, recorded: &HashSet<String>) {
        for boundary in self.platform.scopes.found() {
            if recorded.contains(&boundary) {
                continue;
            }
            let scope = ScopeFactory::reopen(Some(&boundary), None);
            let no_process = || None;
            let relations = self.relations(u64::MAX, &no_process);
            let members = || scope.members(Leader::default(), &relations);
            if !members().is_empty() {
                let report = scope.kill_all(None, members);
                self.entry(
                    What::StrayKilled,
                    "processes in an Ostler cgroup without a live run",
                    json!({ "boundary": boundary, "processes": report.processes }),
                );
            }
            self.platform.scopes.remove_stray(&scope);
            self.runs.strays.known_boundaries.insert(boundary.into());
        }
        let killed = self.platform.scopes.clear_groups(|group| recorded.contains(group));
        if killed > 0 {
            let why = "processes in an Ostler resource group without a live run";
            self.entry(What::StrayKilled, why, json!({ "processes": killed }));
        }
    }

    fn ownership(&self, record: &RunRecord, claims: &HashMap<InstanceId, Claims>) -> Ownership {
        if record.owner_instance_id == self.identity.instance {
            return Ownership::Ours;
        }
        match claims.get(&record.owner_instance_id) {
            Some(claim) if !self.has_run_out(claim) => Ownership::Another,
            Some(_) | None => Ownership::Expired,
        }
    }

    pub(crate) fn has_run_out(&self, claims: &Claims) -> bool {
        let claim = Claim {
            boot_id: claims.boot_id.clone(),
            renewed_at_ms: claims.renewed_at_ms,
            expires_at_ms: claims.expires_at_ms,
            expires_mono_ms: claims.expires_mono_ms,
        };
        may_steal(&claim, ostler_os::boot_id(), now())
    }

    fn own_claims(&self) -> Claims {
        let now = now();
        Claims {
            boot_id: ostler_os::boot_id().to_owned(),
            renewed_at_ms: now.wall_ms,
            expires_at_ms: now.wall_ms + self.identity.settings.lease_ms,
            expires_mono_ms: now.mono_ms + self.identity.settings.lease_ms,
        }
    }

    /// Renews the lease, finds out which runs are still ours, and looks for expired leases of other instances.
    pub(crate) fn renew_lease(&mut self) {
        self.life.business = match self.life.business {
            Activity::Busy => Activity::Quiet,
            Activity::Quiet => {
                self.store.registry.rest();
                ostler_os::trim();
                ostler_os::forget_text();
                Activity::Resting
            }
            Activity::Resting => Activity::Resting,
        };
        self.platform.scopes.trim();
        self.trim_strays();
        let owned = match self.store.registry.renew(self.identity.instance, &self.own_claims()) {
            Ok(owned) => Ok(owned),
            // While the registry cannot be written, no other instance can take over a run; but it can be read.
            Err(_) => self.store.registry.owned(self.identity.instance).map(Some),
        };
        let Ok(owned) = owned else {
            self.core.events.push_back(Event::LeaseRenewed { lost: Vec::new() });
            return;
        };
        let lost = owned.map(|owned| self.lost(owned)).unwrap_or_default();
        self.core.events.push_back(Event::LeaseRenewed { lost });
        self.look_for_expired();
        self.watch_clients();
        // Old entries are also removed while nothing new is written.
        if ostler_os::mono_ms().saturating_sub(self.store.pruned_mono_ms) > PRUNE_EVERY_MS {
            self.prune();
            self.forget_old_mail();
            self.forget_old_sessions();
        }
    }

    /// The runs we supervise that the registry no longer lists as ours.
    fn lost(&mut self, owned: Vec<RunId>) -> Vec<RunId> {
        let owned: HashSet<_> = owned.into_iter().collect();
        let unwritten: HashSet<_> = self
            .store
            .unsaved
            .runs
            .iter()
            .chain(&self.store.batch.runs)
            .map(|record| record.run_id)
            .collect();
        let (lost, unsure): (Vec<RunId>, Vec<RunId>) = self
            .core
            .world
            .records()
            .map(|record| record.run_id)
            .filter(|run| !owned.contains(run))
            .partition(|run| !unwritten.contains(run) && !self.is_passing(*run));
        if !unsure.is_empty() {
            self.store.registry.report_again();
        }
        lost
    }

    fn look_for_expired(&mut self) {
        let Ok(claims) = self.store.registry.claims() else { return };
        if claims.len() < 2 {
            return;
        }
        // Entries of other instances are news for clients that follow the journal here.
        if let Ok(last) = self.store.registry.last_seq() {
            self.store.last_seq.send_if_modified(|known| std::mem::replace(known, last) != last);
        }
        let Ok(records) = self.store.registry.live() else { return };
        let expired: Vec<RunRecord> = records
            .into_iter()
            .filter(|record| self.ownership(record, &claims) == Ownership::Expired)
            .collect();
        if expired.is_empty() {
            return;
        }
        for mut record in expired {
            let seen = self.observe(&mut record, Ownership::Expired);
            self.core.events.push_back(Event::Observed { record: Box::new(record), seen });
        }
    }

    /// Examines the processes of one record. A live run of another instance is not examined.
    fn observe(&mut self, record: &mut RunRecord, ownership: Ownership) -> Observation {
        let nothing = |gone| Observation {
            identity: None,
            gone,
            tree: ostler_core::Survey::default(),
            ownership,
            status: ExitStatus::Unknown,
            streams: Streams::Lost,
        };
        if ownership == Ownership::Another {
            return nothing(Gone::NotLookedAt);
        }
        if record.boot_id != ostler_os::boot_id() {
            return nothing(Gone::MachineRestarted);
        }
        let mut scope = ScopeFactory::adopt(
            record.run_id,
            record.cgroup.as_deref(),
            record.enforced.as_deref(),
        );
        let note = self.guardian.guardian_link.inheritance.note(record.run_id);
        let mut noted_root = None;
        if let Some(recorded) = record.reaper.as_deref() {
            scope.hold_by(RunReaper::found(recorded.clone(), note));
        } else if record.pid.is_none() && record.cgroup.is_none() {
            // Only the intent was recorded.
            let run = record.run_id.to_string();
            let noted = match (note, self.guardian_above()) {
                (Some(note), Some(parent)) => RunReaper::noted(note, &run, parent),
                (None, _) | (_, None) => None,
            };
            if let Some((reaper, root)) = noted.or_else(|| RunReaper::searched(&run)) {
                scope.hold_by(reaper);
                noted_root = root;
            }
        }
        let fingerprint = match record.fingerprint() {
            Some(fingerprint) => Some(fingerprint),
            // Only the intent was recorded: find out whether the process was started.
            None => scope.find_root().or(noted_root).and_then(ostler_os::fingerprint_of),
        };
        let status =
            match (&fingerprint, self.guardian.guardian_link.inheritance.process(record.run_id)) {
                // An exit that the guardian saw, or that the inherited pidfd reports.
                (Some(recorded), held) => {
                    let noted = scope.reaper().and_then(|reaper| reaper.ending_of(recorded.pid));
                    let copy = held.and_then(|held| held.try_clone().ok());
                    let description =
                        || copy.and_then(|held| Process::held(held, recorded.clone()).ending());
                    let reaped =
                        || held.and_then(|_| self.guardian.guardian_link.end_of(recorded.pid));
                    status_of(noted.or_else(description).or_else(reaped))
                }
                // The process exited before it was recorded: its identity is unknown, but not how it ended.
                (None, Some(held)) => status_of(ostler_os::ending_behind(held.as_fd())),
                (None, None) => ExitStatus::Unknown,
            };
        let alive = fingerprint.filter(ostler_os::is_same_process);
        let leader = Leader {
            group: record.process_group_id.or(alive.as_ref().map(|alive| alive.pid)).unwrap_or(0),
            is_pinned: alive.is_some(),
        };
        if let (None, Some(pid)) = (&alive, record.pid) {
            self.runs.adopted_roots.remove(&pid);
        }
        // Other runs are not examined yet: an orphan may belong to any of them.
        let anybody = || Some(0);
        let relations = self.relations(record.start_time.unwrap_or(0), &anybody);
        let mut tree = crate::runs::table::survey(&scope.members(leader, &relations));
        let gone = match record.pid {
            Some(_) => Gone::Process,
            None => self.guardian.guardian_link.inheritance.why_gone(record.run_id),
        };
        if gone == Gone::NeverStarted && alive.is_none() {
            // Nothing was executed, so no process can have escaped.
            tree.is_unexplained = false;
        }
        if alive.is_none() && tree.is_empty() {
            scope.remove();
        }
        // The adopting supervisor looks for its processes there.
        let reaper = scope.reaper().map(|reaper| Box::new(reaper.fingerprint().clone()));
        record.reaper = reaper.clone();
        Observation {
            gone,
            identity: alive.map(|fingerprint| Identity {
                process_group_id: leader.group,
                cgroup: scope.boundary(),
                reaper,
                enforced: record.enforced.clone(),
                fingerprint,
            }),
            tree,
            ownership,
            status,
            streams: if self.guardian.guardian_link.inheritance.has_output(record.run_id) {
                Streams::Kept
            } else {
                Streams::Lost
            },
        }
    }
}
