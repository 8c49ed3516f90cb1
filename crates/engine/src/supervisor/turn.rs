//! The loop. Each turn gathers what the kernel and the other threads report, lets the core decide, commits the writes, and
//! carries out the effects. The result of an effect is an event of the same turn. Internal events come before
//! callers' requests.

use crate::checks::prober::Probed;
use crate::error::EngineError;
use ostler_core::{Effect, Event};
use ostler_model::RunState;
use ostler_os::Ready;
use std::cell::OnceCell;

use super::*;

const LAUNCHES_AT_ONCE: usize = 16;

impl Supervisor {
    pub fn run(mut self) -> Result<Outcome, EngineError> {
        let mut ready: Vec<Ready> = Vec::new();
        self.turn();
        while !self.life.stopped {
            if self.life.successor == Some(Successor::Named) && self.is_all_written() {
                self.life.successor = Some(Successor::Awaited);
                return Ok(self.leave());
            }
            let now_ms = ostler_os::mono_ms();
            let due = self
                .core
                .world
                .next_due()
                .min(self.store.retry_at.unwrap_or(u64::MAX))
                .min(self.waiting.proven_at.unwrap_or(u64::MAX))
                .min(self.guardian.guardian_link.next_due(now_ms))
                .min(self.endpoints.sockets.next_due())
                .min(self.schedule_due(now_ms));
            self.platform
                .poller
                .wait(Some(due.saturating_sub(now_ms)), &mut ready)
                .map_err(EngineError::os("wait for events"))?;
            self.gather(&ready);
            self.turn();
        }
        self.finish();
        Ok(match self.life.restart_requested {
            true => Outcome::Restarted(self.identity.lock),
            false => Outcome::Stopped(self.identity.lock),
        })
    }

    pub(super) fn gather(&mut self, ready: &[Ready]) {
        self.runs.census = OnceCell::new();
        for event in ready {
            match event.token {
                WAKER => self.platform.waker.rest(),
                SIGNALS => self.take_signals(),
                GUARDIAN => self.guardian_died(),
                GUARDIAN_CONNECTION => self.accept_new_guardian(),
                REPORTS => self.take_reports(),
                token => self.take_run_event(token),
            }
        }
        while let Ok(event) = self.threads.output_events.try_recv() {
            self.take_output_event(event);
        }
        while let Ok(Probed { unit, event }) = self.threads.probed.try_recv() {
            self.take_probed(unit, event);
        }
        self.take_memory_events();
        self.take_screen_events();
        self.maintain_guardian();
        self.maintain_sockets();
        let now = now();
        if self.core.world.lease_due(now) {
            self.core.events.push_back(Event::LeaseDue);
        }
        self.check_timetable();
        if self.core.world.units_due(now) {
            self.core.events.push_back(Event::UnitsDue);
        }
        for run in self.core.world.due_runs(now) {
            let is_ending =
                self.core.world.record(run).is_some_and(|record| record.state == RunState::Exiting);
            let tree = is_ending.then(|| self.survey(run));
            let last_output_mono_ms =
                self.runs.live.get(&run).and_then(|live| live.output.last_mono_ms());
            self.core.events.push_back(Event::Due { run, last_output_mono_ms, tree });
        }
        if self.store.retry_at.is_some_and(|at| now.mono_ms >= at) {
            self.store.retry_at = None;
            self.retry_unsaved_writes();
        }
        for _ in 0..REQUESTS_PER_TURN {
            let Ok(request) = self.threads.requests.try_recv() else { return };
            self.take_request(request);
        }
        // More requests may wait: exits and deadlines are checked before them.
        self.platform.waker.wake();
    }

    pub(crate) fn turn(&mut self) {
        loop {
            let mut effects = Vec::new();
            let mut launches = 0;
            while let Some(event) = self.core.events.pop_front() {
                let now = now();
                let step = self.core.world.step(event, now);
                for write in step.writes {
                    self.add_to_batch(write);
                }
                for effect in step.effects {
                    match effect {
                        // A launch only records the request for a run, so the end of the previous run and the
                        // intent of the next are one commit. Further launches wait for the next commit: one batch
                        // for thousands of units would need too much memory.
                        Effect::Launch(unit) if launches < LAUNCHES_AT_ONCE => {
                            launches += 1;
                            self.launch(&unit);
                        }
                        effect => effects.push(effect),
                    }
                }
            }
            let durable = self.commit();
            for effect in effects {
                self.carry_out(effect, durable);
            }
            if self.core.events.is_empty() && self.store.batch.is_empty() {
                self.answer_unit_waiters();
                return;
            }
        }
    }
}
