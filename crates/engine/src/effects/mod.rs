//! Carries out the core's effects. Their results go back to the core as events.

pub(crate) mod hooks;
pub(crate) mod spawn;

use crate::backends;
use crate::handle::{Cancelled, SpawnRefused};
use crate::runs::table::{LiveRun, SCOPE_TOKEN};
use crate::store::commit::Durable;
use crate::supervisor::{Supervisor, now};
use ostler_core::{Effect, Event, MachineMemory, Refusal, Signal};
use ostler_model::{RunId, RunRecord, What};
use ostler_registry::StealOutcome;
use serde_json::json;
use std::cell::OnceCell;

impl Supervisor {
    pub(crate) fn carry_out(&mut self, effect: Effect, durable: Durable) {
        match effect {
            Effect::Launch(unit) => self.launch(&unit),
            Effect::CallHook { unit, condition, why } => self.call_hook(&unit, condition, &why),
            Effect::Crashed { unit, run, ran_ms, description } => {
                self.log_crash(&unit, &run, ran_ms, &description);
            }
            Effect::LookIdle { unit, run } => self.look_idle(unit, run),
            Effect::CheckReady { unit, run } => self.check_ready(unit, run),
            Effect::CheckHealth { unit, run } => self.check_health(unit, run),
            Effect::Spawn(run) => match durable {
                Durable::No if self.is_unsaved(run) => self.refuse_unrecorded(run),
                // The intent of a run that waited for its scope was written when it was requested.
                Durable::Yes | Durable::No if self.is_still_ours(run) => self.spawn(run),
                // Another supervisor ended the run while this one was stopped.
                Durable::Yes | Durable::No => {}
            },
            Effect::Adopt(record) => self.adopt(&record),
            // The run may have ended later in the same turn: then no signal is sent.
            Effect::Signal { run, signal } => {
                if self.core.world.record(run).is_some() {
                    self.signal(run, signal);
                }
            }
            Effect::Watch(run) => self.watch_or_tell(run),
            Effect::LetGo(run) => self.let_go(run),
            Effect::Finish(record) => self.finish_run(*record),
            Effect::Abandon(run) => self.abandon(run),
            Effect::Queued(run) => self.answer_queued(run),
            Effect::LookAtMemory => {
                let ostler_os::MemoryOutlook { free_bytes, pressure } = ostler_os::memory_outlook();
                let seen = MachineMemory { free_bytes, pressure };
                self.core.events.push_back(Event::MemoryLookedAt(seen));
            }
            Effect::Started(run) => {
                self.answer_start_waiters(run);
                if let Some(reply) = self.waiting.spawn_replies.remove(&run)
                    && let Some(record) = self.core.world.record(run)
                {
                    let _ = reply.send(Ok(self.shown(record)));
                }
            }
            Effect::Refuse { run, refusal: Refusal::ShuttingDown } => {
                self.drop_live(run);
                self.answer_not_live(run);
                if let Some(reply) = self.waiting.spawn_replies.remove(&run) {
                    let _ = reply.send(Err(SpawnRefused::ShuttingDown));
                }
            }
            Effect::RenewLease => self.renew_lease(),
            Effect::Steal { record, seen } => self.steal(*record, seen),
            Effect::Stop => self.life.stopped = true,
        }
    }

    fn is_unsaved(&self, run: RunId) -> bool {
        self.store.unsaved.runs.iter().any(|record| record.run_id == run)
    }

    /// The intent is not on disk, so nothing is executed or stored.
    fn refuse_unrecorded(&mut self, run: RunId) {
        self.store.unsaved.forget(run);
        self.drop_live(run);
        let message = self.store.registry_error.clone().unwrap_or_default();
        if let Some(reply) = self.waiting.spawn_replies.remove(&run) {
            let _ = reply.send(Err(SpawnRefused::Registry { message }));
        }
        self.answer_not_live(run);
        self.core.events.push_back(Event::IntentLost { run });
    }

    /// Answers callers that wait for a run that will not start.
    fn answer_not_live(&mut self, run: RunId) {
        for waiter in self.waiting.waiters.remove(&run).unwrap_or_default() {
            let _ = waiter.send(Cancelled::NotLive);
        }
    }

    /// This process may have been stopped for longer than its lease between the commit and now.
    fn is_still_ours(&mut self, run: RunId) -> bool {
        if self.core.world.holds_lease(now()) {
            return true;
        }
        self.renew_lease();
        self.store.registry.owned(self.identity.instance).is_ok_and(|owned| owned.contains(&run))
    }

    fn signal(&mut self, run: RunId, signal: Signal) {
        if signal == Signal::Term {
            // Processes that an app left behind do not receive the event.
            let is_alive =
                |live: &LiveRun| live.process.as_ref().is_some_and(|own| !own.has_ended());
            if self.runs.live.get(&run).is_some_and(is_alive) && self.ask_app_to_end(run) {
                return;
            }
        }
        self.runs.census = OnceCell::new();
        let stop_signal = self.stop_signal_of(run);
        if signal == Signal::Term {
            self.note_term(run, stop_signal);
        }
        let Some(live) = self.runs.live.get(&run) else { return };
        let Some(scope) = &live.scope else { return };
        let process = live.process.as_ref();
        let report = match signal {
            Signal::Term => {
                let record = self.core.world.record(run);
                let is_alive = process.is_some_and(|process| !process.has_ended());
                let is_shim =
                    record.is_some_and(|record| backends::of(record.backend_id).is_shim());
                if is_shim && is_alive {
                    let alone = ostler_os::Members::default();
                    scope.ask_to_end(ostler_os::Signal::Term, process, &alone);
                } else {
                    scope.ask_to_end(stop_signal, process, &self.members(live));
                }
                return;
            }
            Signal::Kill => scope.kill_all(process, || self.members(live)),
        };
        if report.processes > 0 {
            self.core.events.push_back(Event::Killed {
                run,
                mode: report.mode,
                processes: report.processes,
            });
        }
    }

    /// The stop signal of the unit's current declaration, which may have changed since the start. A shim sends the same to its program.
    fn stop_signal_of(&self, run: RunId) -> ostler_os::Signal {
        let record = self.core.world.record(run);
        let unit = record.and_then(|record| self.core.world.unit(record.unit.as_deref()?));
        let asked = match unit {
            Some(unit) => Some(unit.spec.stop.signal),
            None => record.and_then(|record| record.stop_signal),
        };
        asked.map_or(ostler_os::Signal::Term, ostler_os::Signal::Other)
    }

    fn note_term(&mut self, run: RunId, signal: ostler_os::Signal) {
        let Some(record) = self.core.world.record(run) else { return };
        let (grace_ms, group) = (record.grace_ms, record.process_group_id);
        let signal = signal.name();
        let why = format!("{signal}; KILL follows after {grace_ms} ms");
        let evidence = json!({ "signal": signal, "graceMs": grace_ms, "processGroupId": group });
        self.run_entry(run, What::TermSent, &why, evidence);
    }

    /// If the scope is empty already, the kernel will report no change.
    fn watch_or_tell(&mut self, run: RunId) {
        self.watch(run);
        let tree = self.survey(run);
        if tree.is_empty() {
            self.core.events.push_back(Event::Surveyed { run, tree });
        }
    }

    pub(crate) fn watch(&mut self, run: RunId) {
        let Some(live) = self.runs.live.get(&run).filter(|live| live.watch.is_none()) else {
            return;
        };
        let Some(scope) = &live.scope else { return };
        let watch = scope.watch(|| self.members(live));
        let token = live.token + SCOPE_TOKEN;
        for (source, interest) in &watch.sources {
            let _ = self.platform.poller.add(source, token, *interest);
        }
        if let Some(live) = self.runs.live.get_mut(&run) {
            live.watch = Some(watch);
        }
    }

    pub(crate) fn unwatch(&mut self, run: RunId) {
        if let Some(watch) = self.runs.live.get_mut(&run).and_then(|live| live.watch.take()) {
            for (source, _) in &watch.sources {
                self.platform.poller.remove(source);
            }
        }
    }

    fn steal(&mut self, record: RunRecord, mut seen: ostler_core::Observation) {
        let claims = self.store.registry.claims().unwrap_or_default();
        let seen_claim = claims.get(&record.owner_instance_id);
        if seen_claim.is_some_and(|claim| !self.has_run_out(claim)) {
            return;
        }
        match self.store.registry.steal(
            &record,
            seen_claim,
            self.identity.instance,
            ostler_os::wall_ms(),
        ) {
            Ok(StealOutcome::Won(record)) => {
                seen.ownership = ostler_core::Ownership::Ours;
                self.core.events.push_back(Event::StealWon { record, seen });
            }
            Ok(StealOutcome::Lost) | Err(_) => {}
        }
    }
}
