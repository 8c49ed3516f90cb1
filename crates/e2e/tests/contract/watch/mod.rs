//! W: `ostler watch`, one server in the foreground.

pub(crate) mod end;
pub(crate) mod health;
pub(crate) mod restarts;
pub(crate) mod setup;
