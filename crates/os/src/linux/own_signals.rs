//! Signals whose handling a process of ours does not leave to its caller: exec keeps what the caller ignores, and its
//! resource limits.

/// A caller may ignore SIGCHLD (`trap '' CHLD`). Then the kernel would reap our children itself, and their exit
/// status would be lost.
pub fn restore_sigchld() {
    set(libc::SIGCHLD, libc::SIG_DFL);
}

/// A limit of the caller's shell on the size of files or on processor time (`ulimit -f`, `-t`) would end the daemon by
/// a signal. Without the signal, the write fails, which is handled like a full disk. Programs get the default again.
pub fn ignore_limit_signals() {
    set(libc::SIGXFSZ, libc::SIG_IGN);
    set(libc::SIGXCPU, libc::SIG_IGN);
}

#[expect(unsafe_code, reason = "std and rustix cannot set how a signal is handled")]
fn set(signal: libc::c_int, handling: libc::sighandler_t) {
    // SAFETY: no handler is installed, only one of the two handlings that need no code. Nothing else uses these signals.
    unsafe { libc::signal(signal, handling) };
}
