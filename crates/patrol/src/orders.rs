//! Orders for all agents: given by our commands, or by the files that Gas Town's tools write.

use crate::connection::Connection;
use crate::error::PatrolError;
use crate::files::{self, PatrolFiles};
use crate::plan::Plan;
use ostler_model::{Order, PatrolOrders};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct Paused {
    #[serde(default)]
    paused: bool,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    paused_by: String,
    #[serde(default)]
    paused_at: Option<jiff::Timestamp>,
}

/// The orders in force now for the patrol at `root`.
pub fn orders_in_force(root: &str, given: &PatrolOrders) -> PatrolOrders {
    in_force(&PatrolFiles::at(root), given, ostler_os::wall_ms())
}

/// Why nothing may be done now: a person gave an order after the tick began.
pub fn held(connection: &mut Connection, plan: &Plan) -> Result<Option<&'static str>, PatrolError> {
    let given = connection.memory()?.orders;
    let orders = in_force(&plan.town, &given, ostler_os::wall_ms());
    Ok(match (&orders.stopped, &orders.paused) {
        (Some(_), _) => Some("all agents were stopped in the meantime"),
        (None, Some(_)) => Some("the patrol was paused in the meantime"),
        (None, None) => None,
    })
}

/// The orders given to us, and those that exist as files. A file that cannot be parsed is still an order, because it
/// exists.
pub fn in_force(town: &PatrolFiles, given: &PatrolOrders, now_ms: u64) -> PatrolOrders {
    let mut orders = given.clone();
    if orders.stopped.is_none()
        && let Some(text) = lies_there(&town.stopped())
    {
        let mut parts = text.trim().splitn(3, '\t');
        let trigger = parts.next().unwrap_or_default();
        let at = parts.next().and_then(|at| at.parse::<jiff::Timestamp>().ok());
        orders.stopped = Some(Order {
            by: "ESTOP".to_owned(),
            reason: parts.next().unwrap_or_default().to_owned(),
            at_ms: at.map_or(now_ms, |at| u64::try_from(at.as_millisecond()).unwrap_or(0)),
            is_manual: trigger != "auto",
        });
    }
    if orders.paused.is_none()
        && let Some(text) = lies_there(&town.paused())
    {
        let read = serde_json::from_str::<Paused>(&text);
        let is_paused = read.as_ref().map_or(true, |read| read.paused);
        if is_paused {
            let read = read.ok();
            let at = read.as_ref().and_then(|read| read.paused_at);
            orders.paused = Some(Order {
                by: read.as_ref().map(|read| read.paused_by.clone()).unwrap_or_default(),
                reason: read.map(|read| read.reason).unwrap_or_default(),
                at_ms: at.map_or(now_ms, |at| u64::try_from(at.as_millisecond()).unwrap_or(0)),
                is_manual: true,
            });
        }
    }
    orders
}

/// A larger file is not read, but still counts as an order.
const MOST: u64 = 64 << 10;

fn lies_there(path: &Path) -> Option<String> {
    match files::read(path, MOST) {
        Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if files::is_gone(&error) => None,
        Err(_) => Some(String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_files_of_other_programs_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let town = PatrolFiles::at(folder.path());
        let none = PatrolOrders::default();
        assert_eq!(in_force(&town, &none, 5), none);
        std::fs::write(town.stopped(), "manual\t2026-01-02T18:30:00Z\tfire\n").expect("written");
        let stopped = in_force(&town, &none, 5).stopped.expect("stopped");
        assert_eq!((stopped.is_manual, stopped.reason.as_str()), (true, "fire"));
        std::fs::create_dir_all(town.paused().parent().expect("a folder")).expect("made");
        std::fs::write(town.paused(), r#"{"paused":true,"reason":"lunch"}"#).expect("written");
        assert_eq!(
            in_force(&town, &none, 5).paused.map(|order| order.reason).as_deref(),
            Some("lunch")
        );
        std::fs::write(town.paused(), r#"{"paused":false}"#).expect("written");
        assert_eq!(in_force(&town, &none, 5).paused, None);
        std::fs::write(town.paused(), "garbage").expect("written");
        assert!(in_force(&town, &none, 5).paused.is_some());
    }

    #[test]
    fn even_an_empty_order_file_is_an_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let town = PatrolFiles::at(folder.path());
        std::fs::create_dir_all(town.stopped()).expect("made");
        std::fs::create_dir_all(town.paused()).expect("made");
        let orders = in_force(&town, &PatrolOrders::default(), 5);
        assert!(orders.stopped.is_some_and(|order| order.is_manual) && orders.paused.is_some());
    }
}
