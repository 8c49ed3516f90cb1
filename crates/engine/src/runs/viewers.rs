//! The viewers of a run's terminal: how many are attached, and the time of the last input.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

#[derive(Debug, Default)]
pub struct AttachCount {
    attached: AtomicUsize,
    touched_mono_ms: AtomicU64,
}

impl AttachCount {
    /// A viewer typed, attached or detached.
    pub fn touch(&self) {
        self.touched_mono_ms.fetch_max(ostler_os::mono_ms(), Ordering::AcqRel);
    }

    /// Counts a viewer until the guard is dropped.
    pub fn attach(self: &Arc<Self>) -> AttachGuard {
        self.attached.fetch_add(1, Ordering::AcqRel);
        AttachGuard(Arc::clone(self))
    }

    pub(crate) fn attached(&self) -> usize {
        self.attached.load(Ordering::Acquire)
    }

    pub(crate) fn touched_mono_ms(&self) -> u64 {
        self.touched_mono_ms.load(Ordering::Acquire)
    }
}

#[derive(Debug)]
pub struct AttachGuard(Arc<AttachCount>);

impl Drop for AttachGuard {
    fn drop(&mut self) {
        // In this order: a reader that sees no viewer also sees when the last one detached.
        self.0.touch();
        self.0.attached.fetch_sub(1, Ordering::AcqRel);
    }
}
