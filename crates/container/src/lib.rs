//! A container as a run. The run's first process is a shim. The shim creates the container, copies its output, reports
//! that it is ready and how it ended, and ends it on request. So a container has the same life cycle and the same
//! commands as any other run, and goes on when the supervisor is replaced.
//!
//! If the container engine does not answer, nothing is decided: the shim waits for the engine and reports that.

mod engine;
mod exec;
mod follow;
mod listed;
mod made_note;
mod make;
mod memory;
mod ours;
mod scripts;
mod sd_notify;
mod service;
mod shim;
mod start;
mod watch;

pub use exec::exec;
pub use service::{conmon, serve, unserved_podman};
pub use shim::{keep, keep_left, sweep};
