//! Returns memory to the kernel.

pub use ostler_sys::forget_text;

/// An allocation of this size or more gets its own mapping.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 128 << 10;

/// One heap for all threads, and large allocations outside of it: memory that one thread frees serves the others, and a
/// large allocation is returned to the kernel at once. Call it before other threads start.
#[expect(unsafe_code, reason = "the C library's own call")]
pub fn keep_one_heap() {
    // SAFETY: the calls only set limits.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// Returns freed memory to the kernel.
#[expect(unsafe_code, reason = "the C library's own call")]
pub fn trim() {
    // SAFETY: allowed at any time.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}
