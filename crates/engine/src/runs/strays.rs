//! Processes that belong to Ostler but to no live run: leftovers of ended runs, processes that a lost registry does not
//! know, and processes that could not be ended. The journal names them, they are ended when the daemon stops, and no
//! second copy of a unit starts next to one.

use crate::runs::table::LiveRun;
use crate::supervisor::Supervisor;
use ostler_model::{Extinct, Fingerprint, RunId, RunRecord, What};
use ostler_os::{Leader, Members, Relations, RunReaper, ScopeFactory};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

const WHY_FOUND: &str = "belongs to no live run; ended when the daemon stops";
/// How many processes are named in one entry.
const NAMED_MOST: usize = 16;
/// How many strays one record keeps.
const KEPT_MOST: usize = 256;
/// How long killed processes may take to exit.
const GONE_WITHIN_MS: u64 = 5_000;

#[derive(Debug, Default)]
pub(crate) struct Strays {
    /// The reapers of this supervisor's runs with their start times, also of runs that could not be ended.
    pub(crate) reapers: HashMap<i32, u64>,
    /// Children of this process that belong to no known run.
    pub(crate) unowned: HashSet<(i32, u64)>,
    /// Processes that could not be ended, by scope key. No second run with that key starts.
    unkillable: HashMap<String, Vec<Fingerprint>>,
    /// Processes of runs that another supervisor took over: not to be ended here.
    pub(crate) let_go: HashSet<i32>,
    /// Cgroups besides those of live runs whose processes are no strays: of such runs, and of runs that were ended
    /// because no record knows them.
    pub(crate) known_boundaries: HashSet<PathBuf>,
}

impl Strays {
    /// Forgets processes that are gone, because their pids may be reused. The reapers of live runs are checked anyway.
    pub(crate) fn trim(&mut self, of_live: &HashSet<i32>) {
        self.reapers.retain(|pid, start_time| {
            // A dead reaper stays listed until it is reaped, so that it is not counted as an orphan.
            let is_there = || ostler_os::start_time_of(*pid) == Some(*start_time);
            of_live.contains(pid) || RunReaper::continue_alive(*pid, *start_time) || is_there()
        });
        self.unowned
            .retain(|(pid, start_time)| ostler_os::start_time_of(*pid) == Some(*start_time));
        self.unkillable.retain(|_, left| {
            left.retain(ostler_os::is_same_process);
            !left.is_empty()
        });
    }
}

impl Supervisor {
    pub(crate) fn trim_strays(&mut self) {
        if self.runs.strays.reapers.is_empty() && self.runs.strays.unowned.is_empty() {
            return;
        }
        let reaper = |live: &LiveRun| Some(live.scope.as_ref()?.reaper()?.fingerprint().pid);
        let of_live = self.runs.live.values().filter_map(reaper).collect();
        self.runs.strays.trim(&of_live);
    }

    pub(crate) fn members(&self, live: &LiveRun) -> Members {
        let others_since = || self.others_since(live.run);
        let since = live.process.as_ref().map(|process| process.fingerprint().start_time);
        let since = since.or_else(|| self.core.world.record(live.run)?.start_time).unwrap_or(0);
        live.members(&self.relations(since, &others_since))
    }

    /// Whether the guardian is older than the run, and so received all its orphans that this process did not.
    pub(crate) fn has_guardian_since_start(&self, run: RunId) -> bool {
        let started = self.core.world.record(run).and_then(|record| record.start_time);
        self.relations(started.unwrap_or(0), &|| None).has_guardian_since_start()
    }

    pub(crate) fn relations<'a>(
        &'a self,
        since: u64,
        others_since: &'a dyn Fn() -> Option<u64>,
    ) -> Relations<'a> {
        Relations {
            leaders: &self.runs.leaders,
            adopted_roots: &self.runs.adopted_roots,
            reapers: &self.runs.strays.reapers,
            guardian: self.guardian_above(),
            strays: &self.runs.strays.unowned,
            since,
            others_since,
            boundaries: &self.runs,
            has_boundary: false,
            census: &self.runs.census,
        }
    }

    /// Our guardian, if the orphans of the earlier supervisor became its children.
    pub(crate) fn guardian_above(&self) -> Option<i32> {
        self.guardian_pid().filter(|pid| ostler_os::parent_pid() == *pid)
    }

    /// The start time of the oldest other run whose orphans may become our children.
    fn others_since(&self, run: RunId) -> Option<u64> {
        let may_lose = |live: &&LiveRun| {
            let reaper = live.scope.as_ref().and_then(ostler_os::Scope::reaper);
            live.run != run && !reaper.is_some_and(RunReaper::is_alive)
        };
        let began = |live: &LiveRun| {
            let process = live.process.as_ref();
            process.map_or(0, |process| process.fingerprint().start_time)
        };
        self.runs.live.values().filter(may_lose).map(began).min()
    }

    /// Records what an ended run left behind, so that it is not attributed to another run.
    pub(crate) fn note_strays(&mut self, record: &RunRecord) {
        match record.extinct {
            Extinct::Yes => {}
            Extinct::Unknown => self.name_strays_of(record),
            Extinct::No => {
                let left = self.survivors(record.run_id);
                self.runs.strays.unkillable.entry(key_of(record)).or_default().extend(left);
            }
        }
    }

    /// The processes of a run that are alive now.
    pub(crate) fn survivors(&self, run: RunId) -> Vec<Fingerprint> {
        let Some(live) = self.runs.live.get(&run) else { return Vec::new() };
        self.members(live).pids().into_iter().filter_map(ostler_os::fingerprint_of).collect()
    }

    /// Children of ours or of the guardian that belong to no live run.
    fn unknown_children(&self) -> Vec<(i32, u64)> {
        let groups: HashSet<i32> = self.runs.live.values().map(|live| live.leader).collect();
        let is_known = |pid: i32, group: i32, session: i32, start_time: u64| {
            self.runs.leaders.contains_key(&pid)
                || self.runs.adopted_roots.contains(&pid)
                || groups.contains(&group)
                || groups.contains(&session)
                || self.runs.strays.reapers.get(&pid) == Some(&start_time)
                || self.runs.strays.let_go.iter().any(|own| [pid, group, session].contains(own))
        };
        ostler_os::strays(self.guardian_above(), &self.runs, is_known)
    }

    fn unnoted_children(&self) -> impl Iterator<Item = (i32, u64)> {
        let children = self.unknown_children().into_iter();
        children.filter(|stray| !self.runs.strays.unowned.contains(stray))
    }

    /// The strays that an ending run may have left. Its record keeps them: if guardian and supervisor die together, the
    /// strays are no children of ours any more.
    pub(crate) fn strays_since(&self, run: RunId) -> Vec<Fingerprint> {
        let since = self.core.world.record(run).and_then(|record| record.start_time).unwrap_or(0);
        self.young_strays(since).take(KEPT_MOST).collect()
    }

    /// Live strays that began at this time or later, also those that are known already: a run of that time may have left
    /// them.
    fn young_strays(&self, since: u64) -> impl Iterator<Item = Fingerprint> {
        let known = self.runs.strays.unowned.iter().copied();
        let young = self.unnoted_children().chain(known).filter(move |(_, start)| *start >= since);
        young.filter_map(|(pid, start)| {
            let found = ostler_os::fingerprint_of(pid).filter(|found| found.start_time == start)?;
            ostler_os::is_same_process(&found).then_some(found)
        })
    }

    /// Records new strays once.
    pub(crate) fn find_strays(&mut self) {
        let found: Vec<(i32, u64)> = self.unnoted_children().collect();
        if found.is_empty() {
            return;
        }
        let processes = named(found.iter().map(|(pid, _)| *pid));
        self.runs.strays.unowned.extend(found);
        self.entry(What::StrayFound, WHY_FOUND, json!({ "processes": processes }));
    }

    /// Names the strays that an ended run may have left, in the journal of that run.
    fn name_strays_of(&mut self, record: &RunRecord) {
        let since = record.start_time.unwrap_or(0);
        let found = self.young_strays(since).map(|stray| (stray.pid, stray.start_time));
        let found: Vec<(i32, u64)> = found.collect();
        if found.is_empty() {
            return;
        }
        let processes = named(found.iter().map(|(pid, _)| *pid));
        self.runs.strays.unowned.extend(found);
        self.run_entry(
            record.run_id,
            What::StrayFound,
            WHY_FOUND,
            json!({ "processes": processes }),
        );
    }

    /// Ends the strays when the daemon stops, after every run has ended.
    pub(crate) fn end_strays(&mut self) {
        self.continue_reapers();
        let strays = self.all_strays();
        if strays.is_empty() {
            return;
        }
        let processes = named(strays.iter().map(|(pid, _)| *pid));
        let left = ostler_os::end_strays(|| self.all_strays());
        let why = match left {
            0 => "processes without a live run, ended with the daemon".to_owned(),
            left => format!("{left} processes without a run could not be ended"),
        };
        self.entry(What::StrayKilled, &why, json!({ "processes": processes }));
    }

    /// All strays that live, also those of an earlier daemon, which are no children of this process.
    fn all_strays(&self) -> Vec<(i32, u64)> {
        let mut strays = self.unknown_children();
        let is_alive = |(pid, start_time): &(i32, u64)| {
            ostler_os::fingerprint_of(*pid).is_some_and(|found| {
                found.start_time == *start_time && ostler_os::is_same_process(&found)
            })
        };
        strays.extend(self.runs.strays.unowned.iter().filter(|stray| is_alive(stray)));
        strays.sort_unstable();
        strays.dedup();
        strays
    }

    /// A run can stop its own reaper, and the stop may take effect only after the run has ended: such a reaper would stay.
    /// A reaper with a survivor stays.
    fn continue_reapers(&self) {
        const WITHIN_MS: u64 = 500;
        let until_ms = ostler_os::mono_ms() + WITHIN_MS;
        let is_alive = |(pid, start): (&i32, &u64)| RunReaper::continue_alive(*pid, *start);
        // Each is checked every time: `any` would stop at the first.
        while self.runs.strays.reapers.iter().filter(|reaper| is_alive(*reaper)).count() > 0
            && ostler_os::mono_ms() < until_ms
        {
            ostler_os::nap(Duration::from_millis(2));
        }
    }

    /// Ends process trees of an earlier supervisor that no record knows, because the registry was lost.
    pub(crate) fn end_unrecorded(&mut self) {
        let Some(guardian) = self.guardian_above() else { return };
        for (run, reaper) in ostler_os::reapers_below(guardian) {
            let pid = reaper.fingerprint().pid;
            if self.runs.strays.reapers.contains_key(&pid) || self.runs.strays.let_go.contains(&pid)
            {
                continue;
            }
            // Another instance with the same registry may own it.
            let owner =
                run.parse().ok().and_then(|run| self.store.registry.run(run).ok().flatten());
            if owner.is_some_and(|record| record.owner_instance_id != self.identity.instance) {
                self.runs.strays.let_go.insert(pid);
                continue;
            }
            self.end_tree_of(&run, reaper);
        }
        self.find_strays();
    }

    /// Called before any unit starts: ends process trees of this instance that a damaged or removed registry does not
    /// know. Otherwise a unit would run twice. With cgroups, such trees are found by their cgroups.
    pub(crate) fn end_forgotten(&mut self) {
        if self.platform.scopes.why_no_boundary().is_none() {
            return;
        }
        for (run, reaper) in RunReaper::all_of(&self.identity.instance.to_string()) {
            let known = run.parse().map(|run| self.store.registry.run(run));
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
        let no_process = || None;
        let relations = self.relations(0, &no_process);
        let members = || scope.members(Leader::default(), &relations);
        let processes = named(members().pids());
        let report = scope.kill_all(None, members);
        if report.processes > 0 {
            let why = "processes of a run without a record";
            let evidence = json!({ "run": run, "processes": processes });
            self.entry(What::StrayKilled, why, evidence);
        }
    }

    /// Remembers what an earlier supervisor could not end, and the strays it found, from the records of this boot.
    pub(crate) fn remember_unkillable(&mut self, records: &[RunRecord]) {
        for record in records {
            if record.extinct == Extinct::Unknown {
                let strays =
                    record.survivors.iter().filter(|left| ostler_os::is_same_process(left));
                let strays = strays.map(|stray| (stray.pid, stray.start_time));
                self.runs.strays.unowned.extend(strays);
                continue;
            }
            let alive = survivors_of(record);
            if alive.is_empty() {
                continue;
            }
            if let Some(reaper) =
                record.reaper.as_deref().filter(|own| ostler_os::is_same_process(own))
            {
                self.runs.strays.reapers.insert(reaper.pid, reaper.start_time);
            }
            self.runs.strays.unkillable.entry(key_of(record)).or_default().extend(alive);
        }
    }

    /// All processes that could not be ended and still live.
    pub(crate) fn all_survivors(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for (key, left) in &self.runs.strays.unkillable {
            let alive = left.iter().filter(|left| ostler_os::is_same_process(left));
            lines.extend(alive.map(|left| format!("{key}: {}", why_it_lives(left.pid))));
        }
        lines.sort();
        lines
    }

    /// Why no run with this scope key may start now, if a process of an earlier one lives.
    pub(crate) fn survivor_in_scope(&self, scope_key: &str) -> Option<String> {
        let mut left = self.runs.strays.unkillable.get(scope_key)?.iter();
        let alive = left.find(|left| ostler_os::is_same_process(left))?;
        Some(why_it_lives(alive.pid))
    }
}

/// The key under which survivors are stored: the scope key, else the run.
fn key_of(record: &RunRecord) -> String {
    record.scope_key.clone().unwrap_or_else(|| format!("run {}", record.run_id))
}

/// The processes of a run that could not be ended, and are alive.
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
    match record.extinct {
        Extinct::No => survivors_of(record).iter().map(line).collect(),
        Extinct::Yes | Extinct::Unknown => Vec::new(),
    }
}

/// A reaper exits when its run has no processes left.
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
            "the supervisor may not signal it (EPERM); end it as its own user, for example with `sudo kill {pid}`"
        ),
        false => format!("it survived SIGKILL; end it with `kill -9 {pid}`"),
    };
    format!("pid {pid} ({command}) of its last run is still alive: {what}")
}

fn named(pids: impl IntoIterator<Item = i32>) -> Vec<Value> {
    pids.into_iter()
        .take(NAMED_MOST)
        .map(|pid| json!({ "pid": pid, "command": ostler_os::command_of(pid) }))
        .collect()
}
