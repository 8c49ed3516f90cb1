//! `ostler patrol status`: the present state of every agent, and its stored history.

use super::{failure, plan};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use crate::render::{Align, Cell, Colours, Column, Fit, ago, table, width};
use ostler_model::{HeartbeatSeen, Order, PendingSeen, Step};
use ostler_patrol::{Judged, judge};
use serde_json::json;

const COLUMNS: &[Column] = &[
    Column { head: "AGENT", align: Align::Left, fit: Fit::Fixed },
    Column { head: "HEALTH", align: Align::Left, fit: Fit::Fixed },
    Column { head: "SHOWS", align: Align::Left, fit: Fit::Dropped(3) },
    Column { head: "HEARTBEAT", align: Align::Left, fit: Fit::Fixed },
    Column { head: "PENDING", align: Align::Left, fit: Fit::Dropped(2) },
    Column { head: "NEXT", align: Align::Left, fit: Fit::Fixed },
    Column { head: "WHY", align: Align::Left, fit: Fit::Shrinks(20) },
    Column { head: "LAST", align: Align::Left, fit: Fit::Dropped(1) },
];

pub fn status(context: &Context, json: bool) -> Result<Exit, Failure> {
    let (connector, plan) = plan::open(context)?;
    let now_ms = ostler_os::wall_ms();
    let mut connection = connector.open().map_err(failure)?;
    let judgement = judge(&connector, &mut connection, &plan, None, now_ms).map_err(failure)?;
    if json {
        let agents: Vec<_> = judgement
            .judged
            .iter()
            .map(|judged| {
                json!({
                    "agent": judged.agent,
                    "observation": judged.sight.seen,
                    "decision": judged.mechanical,
                    "state": judged.state,
                })
            })
            .collect();
        let town = &judgement.memory.town;
        let pid = connection.patrol_pid();
        outln!(
            "{}",
            json!({ "pid": pid, "town": town, "orders": judgement.orders, "agents": agents })
        );
        return Ok(Exit::DONE);
    }
    let last = judgement.memory.town.last_tick_ms;
    let last = last.map_or_else(|| "not yet".to_owned(), |at| ago(now_ms.saturating_sub(at)));
    let pid = connection
        .patrol_pid()
        .map_or_else(|| "not running".to_owned(), |pid| format!("pid {pid}"));
    let every = ostler_sys::short_duration(plan.spec.tick_ms);
    outln!("{}  {pid}, every {every}, last tick {last}", plan.spec.root);
    report_order("paused", judgement.orders.paused.as_ref(), now_ms);
    report_order("stopped", judgement.orders.stopped.as_ref(), now_ms);
    let rows: Vec<Vec<Cell>> = judgement.judged.iter().map(|judged| row(judged, now_ms)).collect();
    outln!("{}", table(COLUMNS, &rows, width(), Colours::of_output()));
    Ok(Exit::DONE)
}

fn report_order(word: &str, order: Option<&Order>, now_ms: u64) {
    if let Some(order) = order {
        let Order { by, reason, at_ms, .. } = order;
        outln!("{word} {} by {by}: {reason}", ago(now_ms.saturating_sub(*at_ms)));
    }
}

fn row(judged: &Judged, now_ms: u64) -> Vec<Cell> {
    let seen = &judged.sight.seen;
    let heartbeat = match &seen.heartbeat {
        HeartbeatSeen::None => "-".to_owned(),
        HeartbeatSeen::Missing => "missing".to_owned(),
        HeartbeatSeen::Unreadable { .. } => "unreadable".to_owned(),
        HeartbeatSeen::At { age_ms, .. } => {
            format!("{} {}", judged.mechanical.freshness, ostler_sys::short_duration(*age_ms))
        }
    };
    let pending = match &seen.pending {
        PendingSeen::Nothing => "-".to_owned(),
        PendingSeen::Work { mail, nudges, work } => {
            let mut parts = Vec::new();
            if *mail > 0 {
                parts.push(format!("{mail} mail"));
            }
            if *nudges > 0 {
                parts.push(format!("{nudges} nudges"));
            }
            if *work {
                parts.push("work".to_owned());
            }
            parts.join(", ")
        }
        PendingSeen::Unknown { .. } => "unknown".to_owned(),
    };
    let last = judged.state.acted.iter().find(|acted| acted.step != Step::Nothing);
    let last = last.map_or_else(
        || "-".to_owned(),
        |acted| format!("{} {}", acted.step, ago(now_ms.saturating_sub(acted.at_ms))),
    );
    [
        judged.agent.name.clone(),
        judged.mechanical.health.to_string(),
        seen.shows.as_ref().map_or_else(|| "-".to_owned(), |shown| shown.state.to_string()),
        heartbeat,
        pending,
        judged.mechanical.step.to_string(),
        judged.mechanical.reason.clone(),
        last,
    ]
    .map(Cell::from)
    .into()
}
