//! What a tick leaves for people: the document's files.

use crate::error::PatrolError;
use crate::files::{self, stamp};
use crate::plan::Plan;
use ostler_model::{PatrolMemory, TownOrders};
use serde_json::{Map, Value, json};

/// Written after each tick. One that cannot be written keeps no other from being written.
pub fn write(
    plan: &Plan,
    memory: &PatrolMemory,
    orders: &TownOrders,
    now_ms: u64,
) -> Result<(), PatrolError> {
    let town = &plan.town;
    let state = json!({
        "running": true,
        "pid": std::process::id(),
        "last_heartbeat": stamp(now_ms),
        "heartbeat_count": memory.town.ticks,
    });
    let agents: Map<String, Value> = memory
        .states
        .iter()
        .filter(|(_, state)| state.tally.restarts > 0)
        .map(|(name, state)| {
            let last = state.tally.failures_ms.last().copied();
            let told = json!({
                "last_restart": last.map(stamp),
                "restart_count": state.tally.restarts,
                "backoff_until": state.backoff_until_ms.map(stamp),
                "crash_loop_since": state.crash_loop_since_ms.map(stamp),
            });
            (name.clone(), told)
        })
        .collect();
    let first = [
        files::write_json(&town.state(), &state),
        files::write_json(&town.restarts(), &json!({ "agents": agents })),
        mirror(plan, orders),
    ];
    first.into_iter().collect()
}

/// The orders of people, as the files that their other tools know.
pub fn mirror(plan: &Plan, orders: &TownOrders) -> Result<(), PatrolError> {
    let town = &plan.town;
    match &orders.paused {
        Some(order) => files::write_json(
            &town.paused(),
            &json!({
                "paused": true,
                "reason": order.reason,
                "paused_at": stamp(order.at_ms),
                "paused_by": order.by,
            }),
        )?,
        None => files::remove(&town.paused()),
    }
    match &orders.stopped {
        Some(order) => {
            let trigger = if order.is_manual { "manual" } else { "auto" };
            let reason: String =
                order.reason.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            let line = format!("{trigger}\t{}\t{reason}\n", stamp(order.at_ms));
            files::write(&town.stopped(), line.as_bytes())?;
        }
        None => files::remove(&town.stopped()),
    }
    Ok(())
}
