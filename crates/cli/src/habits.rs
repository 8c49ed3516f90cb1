//! Commands of other supervisors that users type from habit. Those that mean the same as a command here are aliases of it;
//! for the others one line names the command to use.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// What to use instead.
const HABITS: &[(&str, &str)] = &[
    (
        "kill",
        "`ostler stop UNIT` stops a unit, `ostler cancel RUN` ends a run (--now without a grace period)",
    ),
    ("rm", "`ostler down UNIT` stops a unit and removes it"),
    ("delete", "`ostler down UNIT` stops a unit and removes it"),
    ("remove", "`ostler down UNIT` stops a unit and removes it"),
    ("restart-all", "`ostler restart --all` restarts every unit"),
    ("stop-all", "`ostler stop '*'` stops every unit, `ostler stop` also the daemon"),
    ("version", "`ostler --version` prints the version"),
    ("monitor", "`ostler top` shows the units live"),
    (
        "scale",
        "declare a unit for each copy, for example worker-1 and worker-2, and name them as 'worker-*'",
    ),
    (
        "exec",
        "`ostler run -- CMD` runs a command; `ostler attach UNIT` connects to a unit with a terminal",
    ),
    ("daemon", "`ostler start` starts the daemon, `ostler status` shows it"),
    ("save", "units are kept; `ostler enable` starts them at boot"),
    ("startup", "`ostler enable` starts the daemon at boot"),
];

/// The line for a command that does not exist here, if it is a known habit.
pub fn hint(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let (_, instead) = HABITS.iter().find(|(habit, _)| habit == word)?;
    Some(format!("there is no command {word:?}: {instead}"))
}
