//! D: the daemon: start, stop, crashes, upgrades, start at boot.

pub(crate) mod adoption;
pub(crate) mod adoption_output;
pub(crate) mod at_boot;
pub(crate) mod bad_homes;
pub(crate) mod crash;
pub(crate) mod files;
pub(crate) mod first_commands;
pub(crate) mod guardian_garbage;
pub(crate) mod guardian_loss;
pub(crate) mod init;
pub(crate) mod races;
pub(crate) mod random_kills;
pub(crate) mod setup;
pub(crate) mod start;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod stop_without_supervisor;
pub(crate) mod upgrade;
