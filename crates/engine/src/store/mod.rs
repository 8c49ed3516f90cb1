//! What is written down: the commit of a turn, mail, the patrol's state, and the logs of the daemon itself.

pub(crate) mod commit;
pub(crate) mod crash_log;
pub(crate) mod failpoint;
pub(crate) mod life_log;
pub(crate) mod mail;
pub(crate) mod patrol;
pub(crate) mod pruning;
