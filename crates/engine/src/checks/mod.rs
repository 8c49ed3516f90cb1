//! Readiness and health checks, and the judgement of missing heartbeats.

pub(crate) mod http;
pub(crate) mod liveness;
pub(crate) mod prober;
pub(crate) mod ready_line;
