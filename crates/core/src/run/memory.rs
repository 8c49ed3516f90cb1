//! The memory limit of a run, as the kernel or our own sample reports it.
//!
//! The kernel may kill one process of a tree and leave the others. Then the run continues and the journal has an
//! entry. A run counts as out of memory if such a kill happened shortly before its first process ended with a
//! failure.

use super::machine::{Phase, Run};
use crate::action::Signal;
use crate::action::{Effect, Step};
use crate::event::{ExitStatus, MemorySeen};
use crate::time::Now;
use ostler_model::{Actor, Enforced, What};
use serde_json::json;

/// A kill this long before the end may have caused it: the parent process may have given up after it.
const NEAR_MS: u64 = 2_000;

impl Run {
    /// Memory facts of a new survey. Reports each kill once.
    pub(super) fn learn_memory(&mut self, seen: MemorySeen, now: Now, out: &mut Step) {
        if matches!(self.phase, Phase::Exited) {
            return;
        }
        let limit = self.record.enforced.as_deref().and_then(|held| held.resources.memory_bytes);
        let by = self.record.enforced.as_deref().and_then(|held: &Enforced| held.memory_by);
        let evidence = |killed: Option<u64>| {
            json!({
                "limitBytes": limit,
                "peakBytes": seen.peak_bytes.or(seen.excess_bytes),
                "by": by,
                "killed": killed,
            })
        };
        if seen.kills > self.record.memory_kills {
            let new = seen.kills - self.record.memory_kills;
            self.record.memory_kills = seen.kills;
            self.memory_kill_mono_ms = Some(now.mono_ms);
            let why = match new {
                1 => "the kernel killed one of its processes".to_owned(),
                many => format!("the kernel killed {many} of its processes"),
            };
            let state = self.record.state;
            out.write(self.save(state, now));
            out.write(self.note(Actor::Kernel, What::OutOfMemory, why, evidence(Some(new)), now));
        }
        if let Some(excess) = seen.excess_bytes
            && matches!(self.phase, Phase::Running { .. })
        {
            if !self.record.out_of_memory {
                self.record.out_of_memory = true;
                let why = format!(
                    "its tree uses {excess} bytes, the limit is {}: killing the tree",
                    limit.unwrap_or(0)
                );
                let state = self.record.state;
                out.write(self.save(state, now));
                out.write(self.note(
                    Actor::Supervisor,
                    What::OutOfMemory,
                    why,
                    evidence(None),
                    now,
                ));
            }
            out.effect(Effect::Signal { run: self.id(), signal: Signal::Kill });
        }
    }

    /// The first process ended without our request: decides whether memory was the cause.
    pub(super) fn judge_memory(&mut self, status: ExitStatus, now: Now) {
        let is_near =
            self.memory_kill_mono_ms.is_some_and(|at| now.mono_ms.saturating_sub(at) < NEAR_MS);
        if is_near && status != ExitStatus::Code(0) {
            self.record.out_of_memory = true;
        }
    }
}
