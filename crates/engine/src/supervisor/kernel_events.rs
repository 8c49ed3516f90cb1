//! What the kernel reports: signals, ended children, and changes of a run's scope.

use crate::backends;
use crate::guardian_link::status_of;
use crate::runs::table::{CLIENT_TOKEN, LiveRun, survey};
use ostler_core::Event;
use ostler_model::{Actor, Counter, RunId, What};
use ostler_os::{Ending, Notice};
use serde_json::json;

use super::*;

impl Supervisor {
    pub(super) fn take_signals(&mut self) {
        for notice in self.platform.reaper.notices() {
            match notice {
                Notice::ChildChanged => self.reap(),
                Notice::StopAsked => self.begin_stop(Actor::Kernel),
                Notice::HandOverAsked => {
                    self.hand_over(None);
                }
            }
        }
    }

    pub(super) fn reap(&mut self) {
        let mut orphans = 0;
        let mut roots = Vec::new();
        while let Some(reaped) = self.platform.reaper.next() {
            match self.runs.leaders.remove(&reaped.pid) {
                Some(run) => roots.push((run, reaped.ending)),
                None if self.runs.strays.reapers.remove(&reaped.pid).is_some() => {
                    self.reaper_ended(reaped.pid, reaped.ending);
                }
                None => orphans += 1,
            }
        }
        for (run, ending) in roots {
            if let Some(live) =
                self.runs.live.get_mut(&run).filter(|live| live.is_watched_by_descriptor)
            {
                // It had a reaper, which was killed; its descriptor reports nothing more.
                live.is_watched_by_descriptor = false;
                live.root_gone = true;
                if let Some(process) = &live.process {
                    self.platform.poller.remove(process);
                }
            }
            let status = status_of(Some(ending));
            let tree = self.survey(run);
            self.core.events.push_back(Event::RootExited { run, status, tree });
        }
        if orphans > 0 {
            self.store.batch.counts.push((Counter::ZombiesReaped, orphans));
        }
    }

    pub(crate) fn survey(&self, run: RunId) -> ostler_core::Survey {
        let mut seen =
            self.runs.live.get(&run).map(|live| survey(&self.members(live))).unwrap_or_default();
        let memory = || {
            let record = self.core.world.record(run)?;
            backends::of(record.backend_id).memory(self, record)
        };
        seen.memory = seen.memory.or_else(memory);
        seen.is_unexplained |= self.may_have_container(run);
        seen
    }

    pub(super) fn reaper_ended(&mut self, pid: i32, ending: Ending) {
        let is_its = |live: &&LiveRun| {
            let reaper = live.scope.as_ref().and_then(ostler_os::Scope::reaper);
            reaper.is_some_and(|reaper| reaper.fingerprint().pid == pid)
        };
        let run = self.runs.live.values().find(is_its).map(|live| live.run);
        if let (Some(run), Ending::Signal(signal)) = (run, ending) {
            let why =
                format!("it was killed by signal {signal}; what it held came to the supervisor");
            self.run_entry(run, What::ReaperLost, &why, json!({ "pid": pid, "signal": signal }));
        }
    }

    pub(super) fn take_run_event(&mut self, token: u64) {
        let Some(run) = self.runs.tokens.get(&token).copied() else { return };
        let Some(live) = self.runs.live.get(&run) else { return };
        if token == live.token + CLIENT_TOKEN {
            return self.client_gone(run);
        }
        if live.is_watched_by_descriptor && token == live.token {
            // The guardian reports an exit before it reaps: if the zombie is gone, the report was received. A process whose reaper was
            // killed is a child of this process.
            self.take_reports();
            self.reap();
            if self.runs.live.get(&run).is_some_and(|live| live.is_watched_by_descriptor) {
                self.root_gone(run);
            }
            return;
        }
        self.unwatch(run);
        // Zombies among the own children are reaped first, so that an empty tree is reported as empty.
        self.reap();
        let tree = self.survey(run);
        if !tree.is_empty() {
            self.watch(run);
        }
        self.core.events.push_back(Event::Surveyed { run, tree });
    }
}
