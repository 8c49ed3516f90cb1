//! Ends this process as another process ended.

/// Ends this process by the default action of a signal. Returns if the signal does not end a process.
#[expect(unsafe_code, reason = "the default action of a signal for this process")]
#[expect(clippy::disallowed_methods, reason = "signals only this process")]
pub fn end_by_signal(signal: i32) {
    // SAFETY: plain calls that affect this process only.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        libc::kill(libc::getpid(), signal);
    }
}
