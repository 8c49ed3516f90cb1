/// Releases the memory of program text. It stays in the page cache and is read again when used. Covers only mappings
/// that no process can have written to.
#[expect(unsafe_code, reason = "the addresses come from /proc/self/maps, not from a Rust pointer")]
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
