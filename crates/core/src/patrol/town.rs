//! Decisions about all agents together: the ticks, and many deaths at once.
//!
//! ```text
//!   quiet ── many deaths within the window ──► noticed: no start in this tick, the operator is notified
//!     ▲                                           │ next tick
//!     │                                           ▼
//!     └── none left to start ──── waves of 1, 2, 4, …, one per tick; back to 1 if one of the last wave died
//! ```

use ostler_model::{
    Edge, PatrolOrders, PatrolPolicy, PatrolState, Trouble, TroubleKind, WatchState,
};
use std::collections::BTreeMap;

/// Ticks that are a little late are no gap.
const GAP_LEAST_MS: u64 = 60_000;

/// Counts the tick, and notes a gap since the last one.
pub fn begin_tick(town: &mut PatrolState, tick_ms: u64, policy: &PatrolPolicy, now_ms: u64) {
    let gap_ms = tick_ms.saturating_mul(3).max(policy.progress_ms).max(GAP_LEAST_MS);
    let was_set_back = town.last_tick_ms.is_some_and(|last| last > now_ms);
    let was_away = town.last_tick_ms.is_some_and(|last| now_ms.saturating_sub(last) > gap_ms);
    let at_most_now = |at: u64| at.min(now_ms);
    town.resumed_at_ms = town.resumed_at_ms.map(at_most_now);
    town.mass_death_at_ms = town.mass_death_at_ms.map(at_most_now);
    if was_set_back || was_away {
        town.resumed_at_ms = Some(now_ms);
    }
    town.ticks = town.ticks.saturating_add(1);
    town.last_tick_ms = Some(now_ms);
}

/// Runs after all agents were observed and before any decision. The caller sets `is_reported` of the condition once
/// the operator is notified; until then the begin is returned again.
pub fn mass_death(
    town: &mut PatrolState,
    states: &BTreeMap<String, WatchState>,
    policy: &PatrolPolicy,
    orders: &PatrolOrders,
    now_ms: u64,
) -> Edge {
    if orders.stopped.is_some() {
        return over(town);
    }
    if orders.paused.is_some() {
        return Edge::None;
    }
    match &town.mass_death {
        None => notice(town, states, policy, now_ms),
        Some(trouble) => {
            let edge = if trouble.is_reported { Edge::None } else { Edge::Begin(trouble.clone()) };
            next_wave(town, states, now_ms, edge)
        }
    }
}

fn notice(
    town: &mut PatrolState,
    states: &BTreeMap<String, WatchState>,
    policy: &PatrolPolicy,
    now_ms: u64,
) -> Edge {
    let is_new = |at: &u64| town.mass_death_at_ms.is_none_or(|noticed| *at > noticed);
    let mut deaths: Vec<u64> =
        states.values().filter_map(|state| state.died_at_ms).filter(is_new).collect();
    deaths.sort_unstable();
    let count = policy.mass_death_count as usize;
    let together = deaths
        .windows(count.max(1))
        .any(|deaths| deaths[deaths.len() - 1] - deaths[0] <= policy.mass_death_window_ms);
    if count == 0 || !together {
        return Edge::None;
    }
    let why = format!("{} agents died at once", deaths.len());
    let trouble = Trouble {
        what: TroubleKind::MassDeath,
        why,
        since_ms: now_ms,
        is_reported: false,
        question: None,
    };
    town.mass_death_at_ms = Some(now_ms);
    town.mass_death = Some(trouble.clone());
    town.may_start.clear();
    Edge::Begin(trouble)
}

fn next_wave(
    town: &mut PatrolState,
    states: &BTreeMap<String, WatchState>,
    now_ms: u64,
    edge: Edge,
) -> Edge {
    let is_dead = |state: &WatchState| state.died_at_ms.is_some();
    let mut left = states
        .iter()
        .filter(|(_, state)| is_dead(state) && state.crash_loop_since_ms.is_none())
        .peekable();
    if left.peek().is_none() {
        return over(town);
    }
    let all_live = town.may_start.iter().all(|name| !states.get(name).is_some_and(is_dead));
    let wave = if all_live { (town.may_start.len() * 2).max(1) } else { 1 };
    let may_start = left
        .filter(|(_, state)| state.backoff_until_ms.is_none_or(|until| until <= now_ms))
        .take(wave)
        .map(|(name, _)| name.clone())
        .collect();
    town.may_start = may_start;
    edge
}

fn over(town: &mut PatrolState) -> Edge {
    town.may_start.clear();
    match town.mass_death.take() {
        Some(trouble) if trouble.is_reported => Edge::End(trouble),
        Some(_) | None => Edge::None,
    }
}

/// A single missing answer may come from a busy machine. After two ticks in a row without one, the operator is
/// notified once.
pub fn unreachable(
    town: &mut PatrolState,
    silence: Option<&str>,
    orders: &PatrolOrders,
    now_ms: u64,
) -> Edge {
    if orders.stopped.is_some() || orders.paused.is_some() {
        return Edge::None;
    }
    match (silence, &town.unreachable) {
        (Some(why), None) => {
            let what = TroubleKind::TmuxUnreachable;
            let why = format!("agents in tmux cannot be observed, no action: {why}");
            town.unreachable =
                Some(Trouble { what, why, since_ms: now_ms, is_reported: false, question: None });
            Edge::None
        }
        (Some(_), Some(trouble)) if trouble.is_reported => Edge::None,
        (Some(_), Some(trouble)) => Edge::Begin(trouble.clone()),
        (None, _) => match town.unreachable.take() {
            Some(trouble) if trouble.is_reported => Edge::End(trouble),
            Some(_) | None => Edge::None,
        },
    }
}

/// The UTC date of a time, as `2026-01-31`.
pub fn day(at_ms: u64) -> String {
    // Howard Hinnant's days-to-civil algorithm; its years begin in March.
    let days = at_ms / 86_400_000 + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let date = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{date:02}")
}
