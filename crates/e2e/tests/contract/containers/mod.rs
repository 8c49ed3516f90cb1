//! W: containers as units, on real engines.

pub(crate) mod agents;
pub(crate) mod engine_away;
pub(crate) mod hostile;
pub(crate) mod lifecycle;
pub(crate) mod podman_service;
pub(crate) mod probes;
pub(crate) mod setup;
