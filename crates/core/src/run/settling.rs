//! The root has exited by itself: is anything of it left?

use super::finish;
use super::machine::{DRAIN_IDLE_MS, Output, Phase, Run};
use crate::action::Action;
use crate::event::{ExitStatus, Survey};
use crate::time::Now;
use ostler_model::{Actor, Extinct, RunState, What};
use serde_json::json;

impl Run {
    pub(super) fn root_exited(
        &mut self,
        status: ExitStatus,
        tree: Survey,
        output: Output,
        now: Now,
        out: &mut Vec<Action>,
    ) -> Phase {
        let output = if self.expects_output() { output } else { Output::Ended };
        finish::keep_status(&mut self.record, status);
        if tree.is_empty() && output == Output::Ended {
            return finish::ended(self, None, status, Extinct::Yes, now, out);
        }
        out.push(self.save(RunState::Exiting, now));
        if !tree.is_empty() {
            out.push(self.note(
                Actor::Kernel,
                What::Lingering,
                format!(
                    "its first process ended ({}), {} in its group and {} outside did not",
                    finish::told(status),
                    tree.inside,
                    tree.outside
                ),
                json!({ "inside": tree.inside, "outside": tree.outside }),
                now,
            ));
            out.push(Action::Watch(self.id()));
        }
        Phase::Settling {
            status,
            since: now.mono_ms,
            due: now.mono_ms + DRAIN_IDLE_MS,
            tree,
            output,
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one phase, taken apart by match")]
    pub(super) fn settle(
        &mut self,
        status: ExitStatus,
        since: u64,
        due: u64,
        tree: Survey,
        output: Output,
        now: Now,
        out: &mut Vec<Action>,
    ) -> Phase {
        if tree.is_empty() && output == Output::Ended {
            finish::ended(self, None, status, Extinct::Yes, now, out)
        } else {
            Phase::Settling { status, since, due, tree, output }
        }
    }
}
