//! Who has a hand on a run's terminal: how many are attached, and when it was last touched.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

#[derive(Debug, Default)]
pub struct AttachCount {
    attached: AtomicUsize,
    touched_mono_ms: AtomicU64,
}

impl AttachCount {
    /// Somebody typed, came or left.
    pub fn touch(&self) {
        self.touched_mono_ms.fetch_max(ostler_os::mono_ms(), Ordering::AcqRel);
    }

    /// Somebody looks at the terminal until the guard is dropped.
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
        // In this order: whoever finds nobody attached finds when the last one left.
        self.0.touch();
        self.0.attached.fetch_sub(1, Ordering::AcqRel);
    }
}
