//! Processes that are ours, though no live run says so: what a run left that nothing tied to it, what a lost registry
//! knows no more, and what could not be ended. None of them is forgotten: they are named in the journal, ended when the
//! daemon stops, and no second copy of a unit is started beside one.

use crate::runs::table::LiveRun;
use crate::supervisor::Supervisor;
use ostler_model::{Extinct, Fingerprint, RunId, RunRecord, What};
use ostler_os::{Leader, Members, Relations, RunReaper, ScopeFactory};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// How many processes are named in one entry.
const NAMED_MOST: usize = 16;
/// How long killed processes may take to be gone.
const GONE_WITHIN_MS: u64 = 5_000;

#[derive(Debug, Default)]
pub(crate) struct Strays {
    /// The reapers of our runs, with their start times: also of those that could not be ended.
    pub(crate) reapers: HashMap<i32, u64>,
    /// Children of ours that no run can be blamed for.
    pub(crate) nobodys: HashSet<(i32, u64)>,
    /// What could not be ended, by the scope in which there is never a second copy.
    unkillable: HashMap<String, Vec<Fingerprint>>,
    /// Of runs that another supervisor took over: not ours to end.
    pub(crate) let_go: HashSet<i32>,
}

impl Strays {
    /// Forgets those that are gone: their numbers will be others'. The reapers of live runs are looked at anyway.
    pub(crate) fn trim(&mut self, of_live: &HashSet<i32>) {
        self.reapers.retain(|pid, start_time| {
            of_live.contains(pid) || ostler_os::start_time_of(*pid) == Some(*start_time)
        });
        self.nobodys
            .retain(|(pid, start_time)| ostler_os::start_time_of(*pid) == Some(*start_time));
        self.unkillable.retain(|_, left| {
            left.retain(ostler_os::is_same_process);
            !left.is_empty()
        });
    }
}

impl Supervisor {
    pub(crate) fn trim_strays(&mut self) {
        if self.strays.reapers.is_empty() && self.strays.nobodys.is_empty() {
            return;
        }
        let reaper = |live: &LiveRun| Some(live.scope.as_ref()?.reaper()?.fingerprint().pid);
        let of_live = self.live.values().filter_map(reaper).collect();
        self.strays.trim(&of_live);
    }

    pub(crate) fn members(&self, live: &LiveRun) -> Members {
        let others_since = || self.others_since(live.run);
        let since = live.process.as_ref().map(|process| process.fingerprint().start_time);
        let since = since.or_else(|| self.world.record(live.run)?.start_time).unwrap_or(0);
        live.members(&self.relations(since, &others_since))
    }

    pub(crate) fn relations<'a>(
        &'a self,
        since: u64,
        others_since: &'a dyn Fn() -> Option<u64>,
    ) -> Relations<'a> {
        Relations {
            leaders: &self.leaders,
            reapers: &self.strays.reapers,
            guardian: self.guardian_above(),
            strays: &self.strays.nobodys,
            since,
            others_since,
            has_boundary: false,
            census: &self.census,
        }
    }

    /// Our guardian, if what our predecessor left came to it.
    pub(crate) fn guardian_above(&self) -> Option<i32> {
        self.guardian_pid().filter(|pid| ostler_os::parent_pid() == *pid)
    }

    /// When the oldest other run began whose orphans may come to us.
    fn others_since(&self, run: RunId) -> Option<u64> {
        let may_lose = |live: &&LiveRun| {
            let reaper = live.scope.as_ref().and_then(ostler_os::Scope::reaper);
            live.run != run && !reaper.is_some_and(RunReaper::is_alive)
        };
        let began = |live: &LiveRun| {
            let process = live.process.as_ref();
            process.map_or(0, |process| process.fingerprint().start_time)
        };
        self.live.values().filter(may_lose).map(began).min()
    }

    /// A run is over. What it may have left is not blamed on another, and what it did leave is remembered.
    pub(crate) fn note_strays(&mut self, record: &RunRecord) {
        match record.extinct {
            Extinct::Yes => {}
            Extinct::Unknown => self.find_strays(Some(record.run_id)),
            Extinct::No => {
                let left = self.survivors(record.run_id);
                self.strays.unkillable.entry(key_of(record)).or_default().extend(left);
            }
        }
    }

    /// The processes of a run that are alive now.
    pub(crate) fn survivors(&self, run: RunId) -> Vec<Fingerprint> {
        let Some(live) = self.live.get(&run) else { return Vec::new() };
        self.members(live).pids().into_iter().filter_map(ostler_os::fingerprint_of).collect()
    }

    /// Children of ours, or of our guardian, that no live run is known by.
    fn unknown_children(&self) -> Vec<(i32, u64)> {
        let groups: HashSet<i32> = self.live.values().map(|live| live.leader).collect();
        let is_known = |pid: i32, group: i32, session: i32, start_time: u64| {
            self.leaders.contains_key(&pid)
                || groups.contains(&group)
                || groups.contains(&session)
                || self.strays.reapers.get(&pid) == Some(&start_time)
                || self.strays.let_go.iter().any(|own| [pid, group, session].contains(own))
        };
        ostler_os::strays(self.guardian_above(), is_known)
    }

    /// Those that are new are named, once.
    pub(crate) fn find_strays(&mut self, run: Option<RunId>) {
        let found: Vec<(i32, u64)> = self
            .unknown_children()
            .into_iter()
            .filter(|stray| !self.strays.nobodys.contains(stray))
            .collect();
        if found.is_empty() {
            return;
        }
        let processes = named(found.iter().map(|(pid, _)| *pid));
        self.strays.nobodys.extend(found);
        let why = "nothing ties it to a live run; it is ended when the daemon stops";
        let evidence = json!({ "processes": processes });
        match run {
            Some(run) => self.run_entry(run, What::StrayFound, why, evidence),
            None => self.entry(What::StrayFound, why, evidence),
        }
    }

    /// The daemon stops, and every run has ended: so does what belonged to none.
    pub(crate) fn end_strays(&mut self) {
        let strays = self.unknown_children();
        if strays.is_empty() {
            return;
        }
        let processes = named(strays.iter().map(|(pid, _)| *pid));
        let left = ostler_os::end_strays(|| self.unknown_children());
        let why = match left {
            0 => "processes of ours that belonged to no live run, ended with the daemon".to_owned(),
            left => format!("{left} processes of ours that belong to no run could not be ended"),
        };
        self.entry(What::StrayKilled, &why, json!({ "processes": processes }));
    }

    /// Trees that a supervisor before us started, and that no record knows: the registry was lost.
    pub(crate) fn end_unrecorded(&mut self) {
        let Some(guardian) = self.guardian_above() else { return };
        for (run, reaper) in ostler_os::reapers_below(guardian) {
            let pid = reaper.fingerprint().pid;
            if self.strays.reapers.contains_key(&pid) || self.strays.let_go.contains(&pid) {
                continue;
            }
            // Another instance of the same registry may own it.
            let owner = run.parse().ok().and_then(|run| self.registry.run(run).ok().flatten());
            if owner.is_some_and(|record| record.owner_instance_id != self.instance) {
                self.strays.let_go.insert(pid);
                continue;
            }
            self.end_tree_of(&run, reaper);
        }
        self.find_strays(None);
    }

    /// Before any unit is started: trees of this instance that the registry knows nothing of, because it was damaged or
    /// removed. A unit started beside its own forgotten tree would be there twice. With cgroups they are found by
    /// their boundaries.
    pub(crate) fn end_forgotten(&mut self) {
        if self.room.why_no_boundary().is_none() {
            return;
        }
        for (run, reaper) in RunReaper::all_of(&self.instance.to_string()) {
            let known = run.parse().map(|run| self.registry.run(run));
            if matches!(known, Ok(Ok(None))) {
                let ending = reaper.clone();
                self.end_tree_of(&run, reaper);
                wait_gone(&ending);
            }
        }
    }

    fn end_tree_of(&mut self, run: &str, reaper: RunReaper) {
        let mut scope = ScopeFactory::reopen(None, None);
        scope.hold_by(reaper);
        let nobody = || None;
        let relations = self.relations(0, &nobody);
        let members = || scope.members(Leader::default(), &relations);
        let processes = named(members().pids());
        let report = scope.kill_all(None, members);
        if report.processes > 0 {
            let why = "processes of a run that no record knows";
            let evidence = json!({ "run": run, "processes": processes });
            self.entry(What::StrayKilled, why, evidence);
        }
    }

    /// What an earlier supervisor could not end, as far as the records of this boot tell.
    pub(crate) fn remember_unkillable(&mut self, records: &[RunRecord]) {
        for record in records {
            let alive = survivors_of(record);
            if alive.is_empty() {
                continue;
            }
            if let Some(reaper) =
                record.reaper.as_deref().filter(|own| ostler_os::is_same_process(own))
            {
                self.strays.reapers.insert(reaper.pid, reaper.start_time);
            }
            self.strays.unkillable.entry(key_of(record)).or_default().extend(alive);
        }
    }

    /// Everything that could not be ended, and lives.
    pub(crate) fn all_that_lives_on(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for (key, left) in &self.strays.unkillable {
            let alive = left.iter().filter(|left| ostler_os::is_same_process(left));
            lines.extend(alive.map(|left| format!("{key}: {}", why_it_lives(left.pid))));
        }
        lines.sort();
        lines
    }

    /// Why no copy is started in this scope now, if something of an earlier one lives.
    pub(crate) fn lives_on(&self, scope_key: &str) -> Option<String> {
        let mut left = self.strays.unkillable.get(scope_key)?.iter();
        let alive = left.find(|left| ostler_os::is_same_process(left))?;
        Some(why_it_lives(alive.pid))
    }
}

/// Under which name survivors are remembered: the scope that has one copy at a time, or the run.
fn key_of(record: &RunRecord) -> String {
    record.scope_key.clone().unwrap_or_else(|| format!("run {}", record.run_id))
}

/// What could not be ended of a run, and lives.
fn survivors_of(record: &RunRecord) -> Vec<Fingerprint> {
    let mut left: Vec<Fingerprint> =
        record.fingerprint().into_iter().chain(record.survivors.iter().cloned()).collect();
    left.retain(ostler_os::is_same_process);
    left.sort_by_key(|fingerprint| fingerprint.pid);
    left.dedup();
    left
}

/// A line for each process that a run of this record left alive.
pub(crate) fn describe_survivors(record: &RunRecord) -> Vec<String> {
    let line = |left: &Fingerprint| format!("{}: {}", key_of(record), why_it_lives(left.pid));
    survivors_of(record).iter().map(line).collect()
}

/// A reaper ends when nothing of its run is left.
fn wait_gone(reaper: &RunReaper) {
    let until_ms = ostler_os::mono_ms() + GONE_WITHIN_MS;
    while reaper.is_alive() && ostler_os::mono_ms() < until_ms {
        ostler_os::nap(Duration::from_millis(2));
    }
}

pub(crate) fn why_it_lives(pid: i32) -> String {
    let command = ostler_os::command_of(pid).unwrap_or_default();
    let what = match ostler_os::is_untouchable(pid) {
        true => format!(
            "may not be signalled by the supervisor (EPERM); end it as its own user, for example with `sudo kill {pid}`"
        ),
        false => format!("outlived KILL; end it with `kill -9 {pid}`"),
    };
    format!("pid {pid} ({command}) of its last run still lives and {what}")
}

fn named(pids: impl IntoIterator<Item = i32>) -> Vec<Value> {
    pids.into_iter()
        .take(NAMED_MOST)
        .map(|pid| json!({ "pid": pid, "command": ostler_os::command_of(pid) }))
        .collect()
}
