//! P: mail and handoff.

pub(crate) mod concurrent;
pub(crate) mod crashes;
pub(crate) mod identity;
pub(crate) mod operations;
pub(crate) mod verbs;
