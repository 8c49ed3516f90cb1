//! Adopts a run that an earlier supervisor started: the record is kept, the rest comes from the kernel.

use super::finish;
use super::machine::{DRAIN_IDLE_MS, Output, Phase, Root, Run, RunEvent};
use crate::action::Step;
use crate::event::{ExitStatus, Observation, Streams, Survey};
use crate::reconcile::Decision;
use crate::time::Now;
use ostler_model::{Actor, Detach, Limits, RunRecord, RunState, Termination, What};
use serde_json::json;

impl Run {
    pub(crate) fn taken_up(record: RunRecord, seen: &Observation) -> Run {
        let limits = Limits {
            timeout_ms: record.timeout_ms,
            no_output_timeout_ms: record.no_output_timeout_ms,
            grace_ms: record.grace_ms,
            stop_signal: record.stop_signal,
        };
        let detach = match (record.detach_allowed, record.strict) {
            (true, _) => Detach::Allow,
            (false, true) => Detach::Strict,
            (false, false) => Detach::Forbid,
        };
        let has_escaped = !record.escaped.is_empty();
        let mut run = Run::new(record, limits, detach, Phase::Starting { cancel: None });
        run.reads_output = seen.streams == Streams::Kept;
        run.escape_reported = has_escaped;
        if let Some(identity) = &seen.identity {
            run.record.pid = Some(identity.fingerprint.pid);
            run.record.start_time = Some(identity.fingerprint.start_time);
            run.record.process_unique = identity.fingerprint.unique;
            run.record.process_group_id = Some(identity.process_group_id);
            run.record.cgroup = identity.cgroup.clone();
            run.record.reaper = identity.reaper.clone();
            run.record.enforced = identity.enforced.clone();
        }
        run
    }

    /// The recorded process no longer exists; what is known of its end is kept.
    pub(crate) fn found_gone(&mut self, seen: &Observation, now: Now, out: &mut Step) {
        if let Some(memory) = seen.tree.memory {
            self.learn_memory(memory, now, out);
        }
        let reason = self.recorded_reason().unwrap_or(Termination::ReconciledStale);
        out.write(self.note(
            Actor::Supervisor,
            What::ReconciledStale,
            seen.gone.why(),
            json!({ "pid": self.record.pid, "startTime": self.record.start_time }),
            now,
        ));
        let status = self.recorded_status();
        self.judge_memory(status, now);
        if status == ExitStatus::Unknown {
            self.record.error = Some(seen.gone.description());
        }
        let extinct = self.extinction(&seen.tree, now, out);
        self.phase = Phase::Draining {
            reason: Some(reason),
            status,
            due: now.mono_ms + DRAIN_IDLE_MS,
            extinct,
        };
        if !self.expects_output() {
            self.step(RunEvent::OutputEnded, now, out);
        }
    }

    /// Keeps what the dead supervisor had already recorded.
    fn recorded_reason(&self) -> Option<Termination> {
        self.record.termination.or(match self.recorded_status() {
            ExitStatus::Code(_) => Some(Termination::Exit),
            ExitStatus::Signal(_) => Some(Termination::Signal),
            ExitStatus::Unknown => None,
        })
    }

    fn recorded_status(&self) -> ExitStatus {
        match (self.record.exit_code, self.record.exit_signal) {
            (Some(code), _) => ExitStatus::Code(code),
            (None, Some(signal)) => ExitStatus::Signal(signal),
            (None, None) => ExitStatus::Unknown,
        }
    }

    pub(crate) fn resume(
        &mut self,
        decision: Decision,
        seen: &Observation,
        now: Now,
        out: &mut Step,
    ) {
        let description = match decision {
            Decision::TakeEnd => "it ended while no supervisor ran; its exit status was kept",
            Decision::EndRest => "its first process is gone; ending the remaining processes",
            Decision::Terminate => "it is alive; the adopt policy is terminate",
            Decision::Resume | Decision::MarkStale | Decision::LeaveAlone | Decision::Steal => {
                "it is alive and continues"
            }
        };
        out.write(self.note(
            Actor::Supervisor,
            What::Adopted,
            description,
            json!({
                "pid": self.record.pid,
                "startTime": self.record.start_time,
                "inside": seen.tree.inside,
                "outside": seen.tree.outside,
                "outputSeen": self.reads_output,
            }),
            now,
        ));
        if self.record.started_mono_ms.is_none() {
            self.record.started_mono_ms = Some(now.mono_ms);
            self.record.started_at_ms = Some(now.wall_ms);
        }
        if let Some(memory) = seen.tree.memory {
            self.learn_memory(memory, now, out);
        }
        let interrupted = self.record.termination;
        self.phase = match decision {
            Decision::TakeEnd => match interrupted {
                Some(reason) => {
                    finish::keep_status(&mut self.record, seen.status);
                    let (root, tree) = (Root::Exited(seen.status), seen.tree.clone());
                    self.begin_ending(Some(reason), root, tree, Output::Open, now, out)
                }
                None => self.root_exited(seen.status, seen.tree.clone(), Output::Open, now, out),
            },
            Decision::EndRest => {
                let status = self.recorded_status();
                self.judge_memory(status, now);
                let tree = seen.tree.clone();
                if interrupted.is_none() {
                    self.report_escape(&tree, now, out);
                }
                let escape = self.escape_reason(&tree).filter(|_| interrupted.is_none());
                let reason = escape.or(self.recorded_reason());
                let reason = Some(reason.unwrap_or(Termination::ReconciledStale));
                self.begin_ending(reason, Root::Exited(status), tree, Output::Open, now, out)
            }
            // If it was already ending for another reason, that reason stays.
            Decision::Terminate => self.begin_ending(
                Some(interrupted.unwrap_or(Termination::LeaseLost)),
                Root::Alive,
                Survey::default(),
                Output::Open,
                now,
                out,
            ),
            Decision::Resume | Decision::MarkStale | Decision::LeaveAlone | Decision::Steal => {
                match interrupted {
                    // It was already ending; the ending continues for the same reason.
                    Some(reason) => self.begin_ending(
                        Some(reason),
                        Root::Alive,
                        Survey::default(),
                        Output::Open,
                        now,
                        out,
                    ),
                    None => {
                        out.write(self.save(RunState::Running, now));
                        self.running(now)
                    }
                }
            }
        };
    }
}
