//! What the guardian sets up at its start: file descriptors, resource limits, the environment.

use rustix::process::{Resource, Rlimit, setrlimit};

/// Closes all inherited descriptors except stdio: the parent's caller may wait for an end of file on them.
#[expect(unsafe_code, reason = "rustix has no close_range")]
pub(crate) fn close_inherited() {
    // SAFETY: the guardian has opened no descriptor yet.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
}

pub(crate) fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// The limit as found, before `lift` raised it to the maximum: the guardian holds a few descriptors for every run.
pub(crate) struct DescriptorLimit {
    found: Rlimit,
}

impl DescriptorLimit {
    pub(crate) fn lift() -> Self {
        Self { found: ostler_sys::lift_descriptor_limit() }
    }

    /// How many descriptors the store may hold. The others are needed to start a supervisor.
    pub(crate) fn most(&self) -> usize {
        const OWN: u64 = 40;
        self.found.maximum.unwrap_or(u64::MAX).saturating_sub(OWN) as usize
    }

    /// For the process that is executed next. Open descriptors above the limit stay open.
    pub(crate) fn restore(&self) {
        let _ = setrlimit(Resource::Nofile, self.found);
    }
}
