//! The patrol observes the agents on every tick, lets the core decide, and carries out the decision through the
//! supervisor's socket.

mod act;
mod boot;
mod clear;
mod command;
mod connection;
mod error;
mod escalate;
mod files;
mod health_check;
mod heartbeat;
mod judge;
mod lifecycle;
pub mod nudge;
mod observe;
mod orders;
mod plan;
mod report;
mod screen;
mod sessions;
mod shown_state;
mod spawns;
mod tick;
pub mod triage;

pub use clear::forget;
pub use connection::{Connection, Connector};
pub use error::PatrolError;
pub use health_check::{Checked, health_check, killed};
pub use judge::{Judged, Judgement, Question, judge, would_ask};
pub use orders::orders_in_force;
pub use plan::Plan;
pub use report::{show_paused, show_stopped};
pub use tick::{AgentTick, TickOptions, TickReport, note_running, tick};

/// Appends a line to the patrol's log file.
pub fn log(plan: &Plan, line: &str) {
    files::log(&plan.town, line);
}
