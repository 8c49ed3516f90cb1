//! Readiness and health checks, and what is concluded from a unit's silence.

pub(crate) mod http;
pub(crate) mod liveness;
pub(crate) mod prober;
pub(crate) mod ready_line;
