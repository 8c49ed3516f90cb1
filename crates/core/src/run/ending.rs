//! Ends a process tree: TERM, the grace, KILL, and the record of what is left.

use super::finish;
use super::machine::{DRAIN_IDLE_MS, Ending, GIVE_UP_MS, Output, Phase, Root, Run, Stage};
use crate::action::Signal;
use crate::action::{Effect, Step, Write};
use crate::event::{ExitStatus, Member, Refusing, Survey};
use crate::time::Now;
use ostler_model::{Actor, Counter, Detach, Escapee, Extinct, RunState, Termination, What};
use serde_json::{Value, json};

impl Run {
    /// The only way into a termination, for every reason.
    pub(crate) fn begin_ending(
        &mut self,
        reason: Option<Termination>,
        root: Root,
        tree: Survey,
        output: Output,
        now: Now,
        out: &mut Step,
    ) -> Phase {
        if let Some(kind) = reason.and_then(Termination::timeout) {
            out.write(Write::Count(Counter::Timeout(kind), 1));
        }
        self.record.termination = reason.or(self.record.termination);
        out.write(self.save(RunState::Exiting, now));
        out.effect(Effect::Signal { run: self.id(), signal: Signal::Term });
        out.effect(Effect::Watch(self.id()));
        let output = if self.expects_output() { output } else { Output::Ended };
        let kill_due = now.mono_ms.saturating_add(self.limits.grace_ms);
        Phase::Ending(Ending { reason, root, tree, output, stage: Stage::Grace { kill_due } })
    }

    /// The caller does not want to wait for the grace: the deadline of KILL is now.
    pub(super) fn kill_now(
        &mut self,
        ending: Ending,
        by: Actor,
        now: Now,
        out: &mut Step,
    ) -> Phase {
        self.limits.grace_ms = 0;
        match ending.stage {
            Stage::Grace { .. } => {
                let why = "requested without the grace period";
                out.write(self.note(by, What::CancelAsked, why, json!({}), now));
                Phase::Ending(Ending { stage: Stage::Grace { kill_due: now.mono_ms }, ..ending })
            }
            Stage::Killed { .. } => Phase::Ending(ending),
        }
    }

    /// The root exited and the settling time is over: end the remaining processes.
    pub(super) fn end_leftovers(
        &mut self,
        status: ExitStatus,
        tree: Survey,
        output: Output,
        now: Now,
        out: &mut Step,
    ) -> Phase {
        if tree.is_empty() {
            let extinct = self.extinction(&tree, now, out);
            return self.drain(None, status, extinct, output, now, out);
        }
        let reason = self.escape_reason(&tree);
        self.report_escape(&tree, now, out);
        if tree.outside > 0 && self.detach == Detach::Allow {
            out.effect(Effect::LetGo(self.id()));
            if tree.inside == 0 {
                // The processes outside were made a run of their own; none inside is left to signal.
                out.write(self.save(RunState::Exiting, now));
                out.effect(Effect::Watch(self.id()));
                let stage = Stage::Killed { give_up_due: now.mono_ms + GIVE_UP_MS };
                let root = Root::Exited(status);
                return Phase::Ending(Ending { reason, root, tree, output, stage });
            }
        }
        self.begin_ending(reason, Root::Exited(status), tree, output, now, out)
    }

    /// The program ended by itself, so its own status is the reason. In strict mode an escape is a failure.
    pub(super) fn escape_reason(&self, tree: &Survey) -> Option<Termination> {
        match (tree.outside, self.detach) {
            (0, _) | (_, Detach::Forbid | Detach::Allow) => None,
            (_, Detach::Strict) => Some(Termination::OwnershipEscape),
        }
    }

    /// The tree was believed to be empty, but is not.
    pub(super) fn end_late(
        &mut self,
        reason: Option<Termination>,
        status: ExitStatus,
        tree: Survey,
        now: Now,
        out: &mut Step,
    ) -> Phase {
        if reason.is_none() {
            return self.end_leftovers(status, tree, Output::Open, now, out);
        }
        self.report_escape(&tree, now, out);
        out.effect(Effect::Signal { run: self.id(), signal: Signal::Kill });
        out.effect(Effect::Watch(self.id()));
        let stage = Stage::Killed { give_up_due: now.mono_ms + GIVE_UP_MS };
        let root = Root::Exited(status);
        Phase::Ending(Ending { reason, root, tree, output: Output::Open, stage })
    }

    /// Names the processes outside the boundary, once.
    pub(super) fn report_escape(&mut self, tree: &Survey, now: Now, out: &mut Step) {
        if tree.outside == 0 || self.detach == Detach::Allow || self.escape_reported {
            return;
        }
        self.escape_reported = true;
        out.write(Write::Count(Counter::OwnershipEscape, 1));
        let named: Vec<Value> = tree
            .named
            .iter()
            .map(|member| {
                json!({
                    "pid": member.pid,
                    "group": member.group,
                    "session": member.session,
                    "command": member.command,
                })
            })
            .collect();
        let escapee =
            |member: &Member| Escapee { pid: member.pid, command: member.command.clone() };
        self.record.escaped = tree.named.iter().map(escapee).collect();
        out.write(self.note(
            Actor::Kernel,
            What::Escaped,
            format!("{} processes outside its process group outlived it", tree.outside),
            json!({ "processes": named, "processGroupId": self.record.process_group_id }),
            now,
        ));
    }

    /// What an empty tree proves. Names the processes that may be left of the run.
    pub(super) fn extinction(&mut self, tree: &Survey, now: Now, out: &mut Step) -> Extinct {
        let extinct = tree.extinct();
        if tree.suspects.is_empty() {
            return extinct;
        }
        let name = |suspect: &Escapee| format!("pid {} ({})", suspect.pid, suspect.command);
        let named = tree.suspects.iter().map(name).collect::<Vec<_>>().join(", ");
        let why = format!(
            "perhaps alive: {named}: it carries the id of this run or is in a session of its number, but nothing proves \
             that it is of this run, so it is not signalled; end it with `kill PID` if it is"
        );
        let before = self.record.error.take().map(|error| format!("{error}; ")).unwrap_or_default();
        self.record.error = Some(format!("{before}{why}"));
        out.write(self.note(
            Actor::Kernel,
            What::StrayFound,
            why,
            json!({ "processes": tree.suspects }),
            now,
        ));
        extinct
    }

    /// After every survey. The run is over if the root has exited and the tree is empty.
    pub(super) fn end_on(&mut self, ending: Ending, now: Now, out: &mut Step) -> Phase {
        let Root::Exited(status) = ending.root else { return Phase::Ending(ending) };
        finish::keep_status(&mut self.record, status);
        if ending.tree.is_empty() {
            let extinct = self.extinction(&ending.tree, now, out);
            return self.drain(ending.reason, status, extinct, ending.output, now, out);
        }
        // A process that TERM still ends did not outlive the run.
        if matches!(ending.stage, Stage::Killed { .. }) {
            self.report_escape(&ending.tree, now, out);
            // A process was forked between the survey and the KILL.
            out.effect(Effect::Signal { run: self.id(), signal: Signal::Kill });
        }
        out.effect(Effect::Watch(self.id()));
        Phase::Ending(ending)
    }

    pub(super) fn ending_due(&mut self, ending: Ending, now: Now, out: &mut Step) -> Phase {
        match (ending.stage, ending.root) {
            (Stage::Grace { kill_due: due } | Stage::Killed { give_up_due: due }, _)
                if now.mono_ms < due =>
            {
                Phase::Ending(ending)
            }
            (_, Root::Exited(_)) if ending.tree.is_empty() => self.end_on(ending, now, out),
            (Stage::Grace { .. }, root) => {
                if matches!(root, Root::Exited(_)) {
                    self.report_escape(&ending.tree, now, out);
                }
                out.effect(Effect::Signal { run: self.id(), signal: Signal::Kill });
                out.effect(Effect::Watch(self.id()));
                let stage = Stage::Killed { give_up_due: now.mono_ms + GIVE_UP_MS };
                Phase::Ending(Ending { stage, ..ending })
            }
            (Stage::Killed { .. }, root) => {
                let status = match root {
                    Root::Exited(status) => status,
                    Root::Alive => ExitStatus::Unknown,
                };
                let extinct = if ending.tree.is_empty() { Extinct::Unknown } else { Extinct::No };
                let refused: Vec<String> =
                    ending.tree.refusing.iter().map(Refusing::description).collect();
                let why = if refused.is_empty() {
                    "processes survived KILL; they end when the kernel releases them".to_owned()
                } else {
                    refused.join("; ")
                };
                if extinct == Extinct::No {
                    self.record.error = Some(format!("not ended: {why}"));
                }
                let refusing: Vec<i32> =
                    ending.tree.refusing.iter().map(|refusing| refusing.pid).collect();
                out.write(self.note(
                    Actor::Kernel,
                    What::NotExtinct,
                    why,
                    json!({
                        "inside": ending.tree.inside,
                        "outside": ending.tree.outside,
                        "refusing": refusing,
                        "waitedMs": GIVE_UP_MS,
                    }),
                    now,
                ));
                finish::ended(self, ending.reason, status, extinct, now, out)
            }
        }
    }

    pub(super) fn killed(
        &mut self,
        mode: &'static str,
        processes: usize,
        now: Now,
        out: &mut Step,
    ) {
        // KILL is repeated while processes are left; each mode is reported once.
        if self.reported_kills.contains(&mode) {
            return;
        }
        self.reported_kills.push(mode);
        out.write(Write::Count(Counter::CleanupKill(mode), 1));
        out.write(self.note(
            Actor::Supervisor,
            What::KillSent,
            format!("{processes} processes did not end within the grace"),
            json!({ "mode": mode, "processes": processes }),
            now,
        ));
    }

    fn drain(
        &mut self,
        reason: Option<Termination>,
        status: ExitStatus,
        extinct: Extinct,
        output: Output,
        now: Now,
        out: &mut Step,
    ) -> Phase {
        if output == Output::Ended || !self.expects_output() {
            return finish::ended(self, reason, status, extinct, now, out);
        }
        Phase::Draining { reason, status, due: now.mono_ms + DRAIN_IDLE_MS, extinct }
    }
}
