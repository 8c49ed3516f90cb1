//! The contract, proved on the real binary with real processes. Each test names the lines it proves.
//! A folder per subject; `crates/e2e/README.md` says which letters of the contract each one has.

mod setup;

mod apps;
mod containers;
mod daemon;
mod every_part;
mod http;
mod mail;
mod nudge;
mod patrol;
mod runs;
mod terminals;
mod tmux;
mod units;
mod watch;
