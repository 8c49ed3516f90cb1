//! Bytes of the app socket: whatever comes and however it is cut, it is lines, and each is a request or a fault.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let [cut, bytes @ ..] = data {
        ostler_fuzz::check_stream(bytes, ostler_fuzz::piece(*cut));
    }
});
