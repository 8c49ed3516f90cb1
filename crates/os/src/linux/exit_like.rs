//! Ending as another has ended.

/// Ends this process by a signal, as if that had come to it. Returns if it does not end anybody.
#[expect(unsafe_code, reason = "the default action of a signal, for ourselves")]
#[expect(clippy::disallowed_methods, reason = "only ourselves")]
pub fn end_by_signal(signal: i32) {
    // SAFETY: plain calls about this process alone.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        libc::kill(libc::getpid(), signal);
    }
}
