//! Agents that an operator or agent requested: they start at the next tick and then get their first message.

use crate::act::{FIRST_WORDS, say};
use crate::connection::{Connection, Connector};
use crate::error::PatrolError;
use crate::nudge::Mode;
use crate::orders;
use crate::plan::Plan;
use ostler_client::UnitAsk;
use ostler_model::{PatrolNote, PatrolOrders, PendingSpawn, UnitState, What};
use ostler_ops::patrol::Order;
use serde_json::Map;
use std::time::Duration;

/// Starts per tick at most: each start costs memory and time.
const MOST_A_TICK: usize = 3;
const STALE_MS: u64 = 6 * 60 * 60_000;
const SETTLE: Duration = Duration::from_secs(30);

/// Starts the requested agents. Each one leaves the list before it is started, so it is started at most once.
pub fn pending(
    connector: &Connector,
    connection: &mut Connection,
    plan: &Plan,
    orders: &PatrolOrders,
    now_ms: u64,
) -> Result<Vec<PatrolNote>, PatrolError> {
    if orders.spawns.is_empty() {
        return Ok(Vec::new());
    }
    let (now, later) = orders.spawns.split_at(orders.spawns.len().min(MOST_A_TICK));
    let rest = PatrolOrders { spawns: later.to_vec(), ..orders.clone() };
    if connection.call(&Order { seen: orders.clone(), now: rest }).is_err() {
        // Another order came in the meantime: try again at the next tick.
        return Ok(Vec::new());
    }
    Ok(now.iter().map(|spawn| begin(connector, connection, plan, spawn, now_ms)).collect())
}

fn begin(
    connector: &Connector,
    connection: &mut Connection,
    plan: &Plan,
    spawn: &PendingSpawn,
    now_ms: u64,
) -> PatrolNote {
    let note = |why: String| PatrolNote {
        unit: plan.find(&spawn.agent).map(|agent| agent.name.clone()),
        what: What::PatrolActed,
        why,
        evidence: Map::new(),
    };
    if now_ms.saturating_sub(spawn.asked_at_ms) > STALE_MS {
        return note(format!("dropped the request to start {}: it is hours old", spawn.agent));
    }
    if let Ok(Some(why)) = orders::held(connection, plan) {
        return note(format!("not started: {why}; request it again"));
    }
    let Some(agent) = plan.find(&spawn.agent) else {
        return note(format!("not started: {:?} is not watched", spawn.agent));
    };
    if let Err(error) = connection.ask_unit(&agent.name, UnitAsk::Start) {
        return note(format!("could not be started: {error}"));
    }
    let _ = connection.wait_longer(SETTLE);
    match connection.settled(&agent.name) {
        Ok(Some(view)) if view.state == UnitState::Ready => {}
        Ok(Some(view)) => {
            return note(format!("requested, but it is {}: {}", view.state, view.why));
        }
        Ok(None) => return note("requested, but the unit no longer exists".to_owned()),
        Err(error) => {
            return note(format!("requested; it is unknown whether it runs: {error}"));
        }
    }
    let words = if spawn.message.is_empty() { FIRST_WORDS } else { &spawn.message };
    // The prompt may take a while to appear; until then the message waits.
    let description = say(connector, &agent.name, words, Mode::WaitIdle);
    note(format!("requested and started; {}", description.words))
}
