//! Gas Town's state files, which each tick writes for people and their tools.

use crate::error::PatrolError;
use crate::files::{self, stamp};
use crate::plan::Plan;
use ostler_model::{Order, PatrolMemory};
use serde_json::{Map, Value, json};

/// Written after each tick. If one file cannot be written, the other is still written. The order files are not among
/// them: a tick would undo an order that a person gives or lifts meanwhile.
pub fn write(
    plan: &Plan,
    memory: &PatrolMemory,
    patrol_pid: Option<i32>,
    now_ms: u64,
) -> Result<(), PatrolError> {
    let town = &plan.town;
    let state = json!({
        "running": patrol_pid.is_some(),
        "pid": patrol_pid,
        "last_heartbeat": stamp(now_ms),
        "heartbeat_count": memory.town.ticks,
    });
    let agents: Map<String, Value> = memory
        .states
        .iter()
        .filter(|(_, state)| state.tally.restarts > 0)
        .map(|(name, state)| {
            let last = state.tally.failures_ms.last().copied();
            let description = json!({
                "last_restart": last.map(stamp),
                "restart_count": state.tally.restarts,
                "backoff_until": state.backoff_until_ms.map(stamp),
                "crash_loop_since": state.crash_loop_since_ms.map(stamp),
            });
            (name.clone(), description)
        })
        .collect();
    let first = [
        files::write_json(&town.state(), &state),
        files::write_json(&town.restarts(), &json!({ "agents": agents })),
    ];
    first.into_iter().collect()
}

/// Writes the order to pause to the file that Gas Town's tools read, or removes the file.
pub fn show_paused(plan: &Plan, order: Option<&Order>) -> Result<(), PatrolError> {
    let path = plan.town.paused();
    let Some(order) = order else { return files::remove(&path) };
    let description = json!({
        "paused": true,
        "reason": order.reason,
        "paused_at": stamp(order.at_ms),
        "paused_by": order.by,
    });
    files::write_json(&path, &description)
}

/// The same for the order to stop.
pub fn show_stopped(plan: &Plan, order: Option<&Order>) -> Result<(), PatrolError> {
    let path = plan.town.stopped();
    let Some(order) = order else { return files::remove(&path) };
    let trigger = if order.is_manual { "manual" } else { "auto" };
    let reason: String =
        order.reason.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = format!("{trigger}\t{}\t{reason}\n", stamp(order.at_ms));
    files::write(&path, line.as_bytes())
}
