//! A container as a run. Its first process for us is a shim: it makes the container, passes its output on, tells when
//! it runs and how it ended, and ends it when it is asked to. So a container has the same life and the same verbs as
//! anything else that runs, and goes on when the supervisor is replaced.
//!
//! An engine that does not answer is no reason for anything: the shim waits for it, and says so.

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
