//! The end of a supervisor: it ends every run, or leaves the runs to the next one.

use crate::handle::{HandOver, Stopped};
use ostler_core::Event;
use ostler_model::{Actor, RunId, What};
use serde_json::json;
use std::path::PathBuf;

use super::*;

const STOP_MARGIN_MS: u64 = 15_000;

impl Supervisor {
    pub(crate) fn begin_stop(&mut self, by: Actor) {
        self.life.stopping = true;
        self.report_stopping();
        self.core.events.push_back(Event::ShutdownRequested { by });
    }

    pub(crate) fn restart_for_caller_inside(&mut self, by: Actor) -> Option<RunId> {
        let Actor::Caller { pid, .. } = &by else { return None };
        let run = self.run_of_pid(*pid)?;
        if self.life.stopping
            || self.guardian.guardian_info.guardian.is_none()
            || !self.guardian.guardian_link.fd_store.is_there()
        {
            return None;
        }
        self.life.restart_requested = true;
        self.begin_stop(by);
        Some(run)
    }

    pub(crate) fn report_stopping(&mut self) {
        let grace_ms = self.core.world.records().map(|record| record.grace_ms).max().unwrap_or(0);
        let rounds = self.core.world.stop_depth() + 1;
        let most_ms = grace_ms.saturating_mul(rounds).saturating_add(STOP_MARGIN_MS);
        self.guardian.guardian_link.fd_store.report_stopping(most_ms);
    }

    pub fn end_all(&mut self) {
        self.begin_stop(Actor::Supervisor);
    }

    pub(crate) fn hand_over(&mut self, program: Option<PathBuf>) -> HandOver {
        if self.life.stopping {
            return HandOver::Stopping;
        }
        if !self.guardian.guardian_link.fd_store.is_there() {
            return HandOver::NoGuardian;
        }
        match (program, self.guardian.guardian_info.guardian) {
            (Some(_), None) => return HandOver::Systemd,
            (Some(program), Some(_)) => {
                // The copy is made now, so that a failure refuses the upgrade, and again after the last write.
                if let Err(error) = self.store.registry.keep_copy() {
                    return HandOver::NoCopy(error.description());
                }
                self.life.names_program = true;
                self.guardian.guardian_link.fd_store.report_successor(&program);
            }
            (None, _) => {}
        }
        self.life.successor = Some(Successor::Named);
        HandOver::Begun
    }

    pub(super) fn is_all_written(&self) -> bool {
        self.waiting.spawn_replies.is_empty()
            && self.store.unsaved.is_empty()
            && self.guardian.guardian_link.fd_store.retry_in().is_none()
    }

    pub(super) fn leave(mut self) -> Outcome {
        self.entry(What::HandedOver, "a successor takes up what lives", json!({}));
        self.commit();
        if self.life.names_program {
            let _ = self.store.registry.keep_copy();
        }
        // The log is written to the end. Waiting callers get no answer: they repeat the request to the next supervisor.
        self.threads.output_writer.finish();
        std::mem::forget(self);
        Outcome::HandedOver
    }

    pub(super) fn finish(&mut self) {
        self.end_strays();
        self.entry(What::SupervisorStopped, "every run has ended", json!({}));
        self.store.retry_at = None;
        self.retry_unsaved_writes();
        self.commit();
        let unsaved = self.store.unsaved.runs.len();
        let _ = self.store.registry.release(self.identity.instance);
        self.platform.scopes.close();
        if self.guardian.guardian_info.guardian.is_none()
            && self.identity.lock.is_in_place(&self.identity.home.lock())
        {
            let _ = std::fs::remove_file(self.identity.home.pid_file());
        }
        self.endpoints.sockets.remove_all();
        let ended = std::mem::take(&mut self.waiting.ended);
        let left = self.all_survivors();
        for reply in self.waiting.stop_replies.drain(..) {
            let _ = reply.send(Stopped { ended: ended.clone(), unsaved, left: left.clone() });
        }
    }
}
