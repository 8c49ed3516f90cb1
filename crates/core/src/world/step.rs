//! The entry point: one event, what is decided, and what follows from it in other runs and units.

use super::{Serving, World};
use crate::action::{Effect, EndRun, Step};
use crate::event::Event;
use crate::run::RunEvent;
use crate::time::Now;
use ostler_model::{Actor, RunId, Termination};

impl World {
    pub fn step(&mut self, event: Event, now: Now) -> Step {
        let mut out = Step::default();
        match event {
            Event::LeaseRenewed { lost } => {
                self.lease.renewed(now);
                self.abandon(lost, now, &mut out);
                for event in std::mem::take(&mut self.deferred) {
                    self.act(event, now, &mut out);
                }
                self.end_orphans(&mut out);
            }
            event if !self.lease.holds(now) => {
                self.deferred.push(event);
                if self.lease.ask() {
                    out.effect(Effect::RenewLease);
                }
            }
            event => self.act(event, now, &mut out),
        }
        self.end_runs(now, &mut out);
        self.admit(now, &mut out);
        if self.serving == Serving::Stopping && self.runs.is_empty() {
            self.serving = Serving::Stopped;
            out.effect(Effect::Stop);
        }
        out
    }

    fn act(&mut self, event: Event, now: Now, out: &mut Step) {
        match event {
            Event::SpawnRequested(new) => self.spawn_asked(*new, now, out),
            Event::Requeued(new) => self.requeued(*new, now, out),
            Event::IntentLost { run } => self.forget(run, now, out),
            Event::Spawned { run, identity } => {
                self.notify(run, RunEvent::Spawned(identity), now, out);
            }
            Event::SpawnFailed { run, kind, error } => {
                self.notify(run, RunEvent::SpawnFailed { kind, error }, now, out);
            }
            Event::CancelRequested { run, by, why, said } => {
                let reason = Termination::ManualCancel;
                self.notify(run, RunEvent::Cancel { reason, by, why, said }, now, out);
            }
            Event::KillRequested { run, by } => {
                self.notify(run, RunEvent::KillRequested { by }, now, out)
            }
            Event::ClientGone { run } => {
                let (reason, by) = (Termination::ManualCancel, Actor::Kernel);
                let why = "the foreground client ended";
                self.notify(run, RunEvent::Cancel { reason, by, why, said: None }, now, out);
            }
            Event::ClientLeft { run, by } => self.client_left(run, by, now, out),
            Event::Due { run, last_output_mono_ms, tree } => {
                self.notify(run, RunEvent::Due { last_output_mono_ms, tree }, now, out);
            }
            Event::RootExited { run, status, tree } => {
                self.notify(run, RunEvent::RootExited { status, tree }, now, out);
            }
            Event::OutputEnded { run } => self.notify(run, RunEvent::OutputEnded, now, out),
            Event::Surveyed { run, tree } => self.notify(run, RunEvent::Surveyed(tree), now, out),
            Event::Killed { run, mode, processes } => {
                self.notify(run, RunEvent::Killed { mode, processes }, now, out);
            }
            Event::DetachDone { run, child } => self.detached(run, *child, now, out),
            Event::ShutdownRequested { by } => self.shutdown(by, now, out),
            Event::LeaseDue => {
                if self.lease.ask() {
                    out.effect(Effect::RenewLease);
                }
            }
            Event::LeaseRenewed { .. } => {}
            Event::UnitsKnown { records, pools, boot_id } => {
                self.pools_known(pools, &records);
                self.units.known(records, &boot_id, now);
            }
            Event::PoolsDeclared { pools, file } => self.declare_pools(pools, &file, out),
            Event::MemoryLookedAt(memory) => self.pools.saw(memory, now),
            Event::Reconciled { begin } => {
                self.is_reconciled = true;
                self.units.reconciled(begin, now, out);
                self.end_orphans(out);
            }
            Event::UnitsWoken => self.units.wake(now, out),
            Event::UnitsDeclared { declared, gone, start, by } => {
                self.units.declare(declared, &gone, start, &by, now, out);
            }
            Event::UnitsRequested { names, ask, by } => self.units.ask(&names, ask, &by, now, out),
            Event::Unit { name, event } => self.units.notify(&name, &event, now, out),
            Event::UnitsDue => self.units.due(now, out),
            Event::Agent { run, event } => self.agent_moves(run, event, now, out),
            Event::NotLaunched { unit } => self.units.not_launched(&unit, now, out),
            Event::Observed { record, seen } => self.observed(record, seen, false, now, out),
            Event::StealWon { record, seen } => self.observed(record, seen, true, now, out),
        }
    }

    /// Passes one event to one run. An event for an ended run changes nothing.
    pub(crate) fn notify(&mut self, id: RunId, event: RunEvent, now: Now, out: &mut Step) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        let is_start = matches!(event, RunEvent::Spawned(_));
        run.step(event, now, out);
        if is_start && let Some(unit) = run.record.unit.clone() {
            self.units.spawned(&unit, id, now, out);
        }
        self.settle(id, now, out);
    }

    /// Ends the runs that units want ended. What other units want as a result is ended in the next round; recursion
    /// would be too deep for thousands of units.
    pub(super) fn end_runs(&mut self, now: Now, out: &mut Step) {
        while !out.ends.is_empty() {
            for EndRun { run, by, why } in std::mem::take(&mut out.ends) {
                let reason = Termination::ManualCancel;
                self.notify(run, RunEvent::Cancel { reason, by, why, said: None }, now, out);
            }
        }
    }
}
