//! A daemon whose processes are stopped by a signal: it is there, and answers no caller.

use std::path::Path;

/// The stopped processes of the daemon of a home.
pub(crate) struct Halted {
    /// No process is left that could replace the stopped one.
    pub(crate) is_final: bool,
    /// What is stopped, and the command that continues it.
    pub(crate) description: String,
}

/// `None` if neither guardian nor supervisor is stopped. Reads the descriptors of all processes, so it is called only for
/// a daemon that is silent.
pub(crate) fn halted(home: &Path) -> Option<Halted> {
    let mut stopped = Vec::new();
    for (pid, words) in ostler_os::holders(&home.join("lock")) {
        let role = words.get(1).filter(|role| *role == "guardian" || *role == "supervisor");
        if let Some(role) = role.filter(|_| ostler_os::is_stopped(pid)) {
            stopped.push((role.clone(), pid));
        }
    }
    stopped.sort();
    let names: Vec<String> =
        stopped.iter().map(|(role, pid)| format!("{role} pid {pid}")).collect();
    let pids: Vec<String> = stopped.iter().map(|(_, pid)| pid.to_string()).collect();
    let is_final = stopped.iter().any(|(role, _)| role == "guardian");
    let description = format!(
        "the daemon is stopped (state T): {}; `kill -CONT {}` continues it",
        names.join(", "),
        pids.join(" ")
    );
    (!stopped.is_empty()).then_some(Halted { is_final, description })
}
