//! The root exited by itself: are processes or output of the run left?

use super::finish;
use super::machine::{DRAIN_IDLE_MS, Output, Phase, Run, Settling};
use crate::action::{Effect, Step};
use crate::event::{ExitStatus, Survey};
use crate::time::Now;
use ostler_model::{Actor, RunState, What};
use serde_json::json;

impl Run {
    pub(super) fn root_exited(
        &mut self,
        status: ExitStatus,
        tree: Survey,
        output: Output,
        now: Now,
        out: &mut Step,
    ) -> Phase {
        let output = if self.expects_output() { output } else { Output::Ended };
        finish::keep_status(&mut self.record, status);
        self.judge_memory(status, now);
        if tree.is_empty() && output == Output::Ended {
            let extinct = self.extinction(&tree, now, out);
            return finish::ended(self, None, status, extinct, now, out);
        }
        out.write(self.save(RunState::Exiting, now));
        if !tree.is_empty() {
            out.write(self.note(
                Actor::Kernel,
                What::Lingering,
                format!(
                    "its first process ended ({}); {} in its process group and {} outside are still alive",
                    finish::description(status),
                    tree.inside,
                    tree.outside
                ),
                json!({ "inside": tree.inside, "outside": tree.outside }),
                now,
            ));
            out.effect(Effect::Watch(self.id()));
        }
        Phase::Settling(Settling {
            status,
            since: now.mono_ms,
            due: now.mono_ms + DRAIN_IDLE_MS,
            tree,
            output,
        })
    }

    pub(super) fn settle(&mut self, settling: Settling, now: Now, out: &mut Step) -> Phase {
        if settling.tree.is_empty() && settling.output == Output::Ended {
            let extinct = self.extinction(&settling.tree, now, out);
            finish::ended(self, None, settling.status, extinct, now, out)
        } else {
            Phase::Settling(settling)
        }
    }

    /// Output extends the settling time, at most to the grace.
    pub(super) fn settling_due(
        &mut self,
        mut settling: Settling,
        last_output_mono_ms: Option<u64>,
        tree: Option<Survey>,
        now: Now,
        out: &mut Step,
    ) -> Phase {
        settling.tree = tree.unwrap_or(settling.tree);
        let since = settling.since;
        let quiet_since = last_output_mono_ms.unwrap_or(since).max(since);
        settling.due =
            (quiet_since + DRAIN_IDLE_MS).min(since + self.limits.grace_ms.max(DRAIN_IDLE_MS));
        if now.mono_ms < settling.due {
            Phase::Settling(settling)
        } else {
            self.end_leftovers(settling.status, settling.tree, settling.output, now, out)
        }
    }
}
