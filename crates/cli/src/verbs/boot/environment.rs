//! The environment of a daemon started at boot, so that it has the same settings as one started by hand.

use super::tool::failed;
use super::{Daemon, utf8};
use crate::exit::Failure;
use std::path::PathBuf;

/// Paths; they are made absolute, because at boot the working directory differs.
const PLACES: [&str; 3] = ["OSTLER_HOME", "XDG_STATE_HOME", "OSTLER_REGISTRY"];

/// The variables that `settings` reads.
const SETTINGS: [&str; 12] = [
    "OSTLER_LEASE",
    "OSTLER_ADOPT",
    "OSTLER_HISTORY_COUNT",
    "OSTLER_HISTORY_AGE",
    "OSTLER_JOURNAL_ROWS",
    "OSTLER_JOURNAL_BYTES",
    "OSTLER_LOG_BYTES",
    "OSTLER_OUTPUT_BYTES",
    "OSTLER_NO_CGROUP",
    "OSTLER_LIMITS",
    "OSTLER_HTTP",
    "OSTLER_HTTP_HOSTS",
];

/// Whether the daemon is started as the user, with the user's home directory, or by the system.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Starts {
    AsTheUser,
    AsTheSystem,
}

pub fn to_be_set(daemon: &Daemon, starts: Starts) -> Result<Vec<(&'static str, String)>, Failure> {
    let mut variables = Vec::new();
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    for name in PLACES {
        let named = set(name).map(PathBuf::from);
        let place = match name {
            "OSTLER_HOME" if starts == Starts::AsTheSystem => Some(daemon.home.clone()),
            "XDG_STATE_HOME" if variables.iter().any(|(name, _)| *name == "OSTLER_HOME") => None,
            _ => named,
        };
        if let Some(place) = place {
            variables.push((name, utf8(&std::path::absolute(place)?)?.to_owned()));
        }
    }
    for name in SETTINGS {
        if let Some(value) = set(name) {
            let value = value.into_string().map_err(|_| failed(format!("{name} is not UTF-8")))?;
            variables.push((name, value));
        }
    }
    Ok(variables)
}
