//! Giving memory back.

/// A piece from this size on is a mapping of its own.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 128 << 10;

/// What work needed and rest does not: program text stays in the page cache and comes back when it is used.
/// Only what nobody can have written to.
#[expect(unsafe_code, reason = "rustix wants a pointer of ours; these are the program's")]
pub fn forget_text() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for line in maps.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [range, mode, offset, _, _, path] = words[..] else { continue };
        let is_header = mode == "r--p" && offset.bytes().all(|byte| byte == b'0');
        if !path.starts_with('/') || !(mode == "r-xp" || is_header) {
            continue;
        }
        let address = |text: &str| usize::from_str_radix(text, 16).ok();
        let ends = range.split_once('-').and_then(|(from, to)| address(from).zip(address(to)));
        if let Some((from, to)) = ends {
            // SAFETY: a private mapping of a file that was never written to is read again from the file.
            unsafe { libc::madvise(from as *mut libc::c_void, to - from, libc::MADV_DONTNEED) };
        }
    }
}

/// One heap for all threads, and large pieces outside of it: what one thread is done with serves the next, and
/// what was large is given back at once. Call it before there are threads.
#[expect(unsafe_code, reason = "the C library's own call")]
pub fn keep_one_heap() {
    // SAFETY: they only set limits.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// What was freed and not yet given back.
#[expect(unsafe_code, reason = "the C library's own call")]
pub fn trim() {
    // SAFETY: it may be called at any time.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}
