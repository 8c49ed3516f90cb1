//! What follows from the end of a unit's run.

use super::backoff::{is_reached, slow, wait_ms};
use super::exit::{Death, ExitClass, rule};
use ostler_model::{BreakerOpen, RestartPolicy, Tally, When};

/// More than any reasonable limit. Older failures are dropped.
const KEPT_MOST: usize = 512;

/// A run that requests a restart after a longer time than this has done some work.
const QUICK_MS: u64 = 1_000;
/// The delay after the second quick restart request in a row, and the longest delay.
const REQUEST_WAIT_MS: u64 = 1_000;
const REQUEST_WAIT_MOST_MS: u64 = 60_000;
/// This many quick restart requests in a row are a loop.
pub const REQUESTS_MOST: u32 = 8;

/// Whether a unit that only requests restarts is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartRequests {
    Limited,
    /// For a part of Ostler itself.
    Unlimited,
}

/// What follows from an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Restart after this delay.
    Restart { wait_ms: u64 },
    /// No restart. The class says whether the end was clean.
    Over { class: ExitClass },
    /// Too many failures: the breaker opens.
    Broken { why: String },
}

/// Judges an end that was not requested.
pub fn after(
    tally: &mut Tally,
    policy: &RestartPolicy,
    death: Death,
    ran_ms: u64,
    wall_ms: u64,
) -> Verdict {
    after_with(tally, policy, RestartRequests::Limited, death, ran_ms, wall_ms)
}

/// The same, with an explicit limit for restart requests.
pub fn after_with(
    tally: &mut Tally,
    policy: &RestartPolicy,
    requests: RestartRequests,
    death: Death,
    ran_ms: u64,
    wall_ms: u64,
) -> Verdict {
    let class = rule(policy).class(death);
    if ran_ms > policy.backoff.reset_after_ms {
        tally.steps = 0;
    }
    if ran_ms >= QUICK_MS {
        tally.restart_requests = 0;
    }
    if class == ExitClass::Temporary && policy.when != When::Never {
        return restart_requested(tally, requests, ran_ms, wall_ms);
    }
    if !is_restarted(policy.when, class) {
        return Verdict::Over { class };
    }
    tally.failures_ms.push(wall_ms);
    // After the clock was set back, failures from the future must not count.
    tally.failures_ms.retain(|at| *at <= wall_ms);
    let excess = tally.failures_ms.len().saturating_sub(KEPT_MOST);
    tally.failures_ms.drain(..excess);
    if let Some(limit) = policy.limit {
        for limit in [limit, slow(limit)] {
            if is_reached(limit, &tally.failures_ms, wall_ms) {
                let why = format!(
                    "gave up after {} failures in {} s: {}",
                    limit.count,
                    limit.window_ms / 1_000,
                    death.description()
                );
                tally.opened = Some(BreakerOpen { at_ms: wall_ms, why: why.clone() });
                return Verdict::Broken { why };
            }
        }
    }
    tally.restarts += 1;
    if policy.immediate_after_ms.is_some_and(|least_ms| ran_ms >= least_ms) {
        // It worked until now. If it fails again soon, the delays begin.
        tally.steps = 0;
        return Verdict::Restart { wait_ms: 0 };
    }
    let wait_ms = wait_ms(&policy.backoff, tally.steps);
    tally.steps = tally.steps.saturating_add(1);
    Verdict::Restart { wait_ms }
}

/// The program requested the restart (exit 75). The first one is immediate and free. A request within one second of
/// the start waits like a failure, and a program that does nothing else is given up.
fn restart_requested(
    tally: &mut Tally,
    requests: RestartRequests,
    ran_ms: u64,
    wall_ms: u64,
) -> Verdict {
    if ran_ms < QUICK_MS {
        tally.restart_requests = tally.restart_requests.saturating_add(1);
    }
    if requests == RestartRequests::Limited && tally.restart_requests >= REQUESTS_MOST {
        let why = format!(
            "gave up after {} restart requests (exit 75) in a row, each within 1 s of the start",
            tally.restart_requests
        );
        tally.opened = Some(BreakerOpen { at_ms: wall_ms, why: why.clone() });
        return Verdict::Broken { why };
    }
    tally.restarts += 1;
    let wait_ms = match tally.restart_requests {
        0 | 1 => 0,
        more => REQUEST_WAIT_MS.saturating_mul(1 << (more - 2).min(16)).min(REQUEST_WAIT_MOST_MS),
    };
    Verdict::Restart { wait_ms }
}

/// A person restarted the unit, or its configuration changed.
pub fn clear(tally: &mut Tally) {
    tally.steps = 0;
    tally.restart_requests = 0;
    tally.failures_ms.clear();
    tally.opened = None;
}

fn is_restarted(when: When, class: ExitClass) -> bool {
    match (when, class) {
        // Our own health check restarts it, whatever the exit code was.
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
