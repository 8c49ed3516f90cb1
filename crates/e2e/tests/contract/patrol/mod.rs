//! P: the patrol.

pub(crate) mod attacks;
pub(crate) mod recovery;
pub(crate) mod setup;
pub(crate) mod triage;
