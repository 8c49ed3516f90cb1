//! X: what holds for every part: bad input, verbs, versions.

pub(crate) mod bad_input;
pub(crate) mod purposes;
pub(crate) mod sandboxed;
pub(crate) mod verbs;
pub(crate) mod versions;
