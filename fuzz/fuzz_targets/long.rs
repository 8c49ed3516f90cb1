//! The same with lines that are too long or do not end: some bytes, many times over, between others.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [cut, times, rest @ ..] = data else { return };
    let mut parts = rest.split(|byte| *byte == 0);
    let [before, again, after] = [(); 3].map(|()| parts.next().unwrap_or_default());
    let bytes = [before, &again.repeat(1 << (times & 0x0f)), after].concat();
    let piece = ostler_fuzz::piece(*cut);
    if bytes.len() <= 1_200_000 && bytes.len() / piece <= 4_096 {
        ostler_fuzz::check_stream(&bytes, piece);
    }
});
