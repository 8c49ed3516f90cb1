//! Stored data: the commit of a turn, mail, the patrol's state, and the daemon's own logs.

pub(crate) mod commit;
pub(crate) mod crash_log;
pub(crate) mod failpoint;
pub(crate) mod life_log;
pub(crate) mod mail;
pub(crate) mod patrol;
pub(crate) mod pruning;
