//! What follows from a unit's end.

use super::backoff::{is_reached, slow, wait_ms};
use super::exit::{Death, ExitClass, rule};
use ostler_model::{BreakerOpen, RestartPolicy, Tally, When};

/// More than any limit that makes sense; older ones fall away.
const KEPT_MOST: usize = 512;

/// A run that asks to be started again and lasted longer than this has done some work.
const QUICK_MS: u64 = 1_000;
/// The wait after the second quick wish in a row, and the longest.
const WISH_WAIT_MS: u64 = 1_000;
const WISH_WAIT_MOST_MS: u64 = 60_000;
/// So many quick wishes in a row are a loop.
pub const WISHES_MOST: u32 = 8;

/// Whether a unit that only ever asks to be started again is given up on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wishes {
    Limited,
    /// Of a part of Ostler itself.
    Unlimited,
}

/// What follows from an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Again, after this time.
    Restart { wait_ms: u64 },
    /// It is over, and that is well or not.
    Over { class: ExitClass },
    /// Too often: the breaker is open.
    Broken { why: String },
}

/// The unit's run has ended without anybody having asked us to end it.
pub fn after(
    tally: &mut Tally,
    policy: &RestartPolicy,
    death: Death,
    ran_ms: u64,
    wall_ms: u64,
) -> Verdict {
    after_with(tally, policy, Wishes::Limited, death, ran_ms, wall_ms)
}

/// The same, and what follows from a loop of wishes.
pub fn after_with(
    tally: &mut Tally,
    policy: &RestartPolicy,
    wishes: Wishes,
    death: Death,
    ran_ms: u64,
    wall_ms: u64,
) -> Verdict {
    let class = rule(policy).class(death);
    if ran_ms > policy.backoff.reset_after_ms {
        tally.steps = 0;
    }
    if ran_ms >= QUICK_MS {
        tally.wishes = 0;
    }
    if class == ExitClass::Temporary && policy.when != When::Never {
        return wished(tally, wishes, ran_ms, wall_ms);
    }
    if !is_restarted(policy.when, class) {
        return Verdict::Over { class };
    }
    tally.failures_ms.push(wall_ms);
    // A clock that was set back must not make the future count.
    tally.failures_ms.retain(|at| *at <= wall_ms);
    let excess = tally.failures_ms.len().saturating_sub(KEPT_MOST);
    tally.failures_ms.drain(..excess);
    if let Some(limit) = policy.limit {
        for limit in [limit, slow(limit)] {
            if is_reached(limit, &tally.failures_ms, wall_ms) {
                let why = format!(
                    "{} ends in {} s, the last: {}",
                    limit.count,
                    limit.window_ms / 1_000,
                    death.description()
                );
                tally.opened = Some(BreakerOpen { at_ms: wall_ms, why: why.clone() });
                return Verdict::Broken { why };
            }
        }
    }
    let wait_ms = wait_ms(&policy.backoff, tally.steps);
    tally.steps = tally.steps.saturating_add(1);
    tally.restarts += 1;
    Verdict::Restart { wait_ms }
}

/// It asked for it itself. The first time that is at once and costs nothing; one that asks again within a second waits
/// as after a failure, and is stopped when it does nothing else.
fn wished(tally: &mut Tally, wishes: Wishes, ran_ms: u64, wall_ms: u64) -> Verdict {
    if ran_ms < QUICK_MS {
        tally.wishes = tally.wishes.saturating_add(1);
    }
    if wishes == Wishes::Limited && tally.wishes >= WISHES_MOST {
        let why = format!(
            "it asked to be started again (exit 75) {} times in a row, each time within a second of its start",
            tally.wishes
        );
        tally.opened = Some(BreakerOpen { at_ms: wall_ms, why: why.clone() });
        return Verdict::Broken { why };
    }
    tally.restarts += 1;
    let wait_ms = match tally.wishes {
        0 | 1 => 0,
        more => WISH_WAIT_MS.saturating_mul(1 << (more - 2).min(16)).min(WISH_WAIT_MOST_MS),
    };
    Verdict::Restart { wait_ms }
}

/// Somebody has looked, or it is not the same configuration any more.
pub fn clear(tally: &mut Tally) {
    tally.steps = 0;
    tally.wishes = 0;
    tally.failures_ms.clear();
    tally.opened = None;
}

fn is_restarted(when: When, class: ExitClass) -> bool {
    match (when, class) {
        // Our own verdict restarts it whatever its exit code was.
        (When::Always | When::OnFailure, ExitClass::Unhealthy) => true,
        (When::Never, _) => false,
        (When::Always, _) => true,
        (
            When::OnFailure,
            ExitClass::Clean | ExitClass::Config | ExitClass::Fatal | ExitClass::Asked,
        ) => false,
        (
            When::OnFailure,
            ExitClass::Temporary
            | ExitClass::Signal
            | ExitClass::OutOfMemory
            | ExitClass::TimedOut
            | ExitClass::NotSpawned
            | ExitClass::Failure,
        ) => true,
    }
}
