//! P and T: tmux sessions.

pub(crate) mod daemon_server;
pub(crate) mod inside_runs;
pub(crate) mod interference;
pub(crate) mod setup;
pub(crate) mod supervisor_crash;
pub(crate) mod units;
pub(crate) mod user_server;
pub(crate) mod without_boundary;
