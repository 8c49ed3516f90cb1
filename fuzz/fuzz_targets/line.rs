//! Bytes of the app socket: whatever comes and however it is cut, it is lines, and each is a request or a fault.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ostler_api::{FaultCode, Line, Lines, read_request};

/// What a line came to. `None` is one that does not end: after it nothing is read.
type Read = Option<Vec<u8>>;

fn read(bytes: &[u8], piece: usize) -> Vec<Result<Read, ()>> {
    let mut lines = Lines::default();
    let mut found = Vec::new();
    for piece in bytes.chunks(piece) {
        lines.add(piece);
        while let Some(line) = lines.next() {
            match line {
                Line::Whole(line) => found.push(Ok(Some(line.to_vec()))),
                Line::TooLong => found.push(Err(())),
                Line::Endless => {
                    found.push(Ok(None));
                    return found;
                }
            }
        }
    }
    found
}

fuzz_target!(|data: &[u8]| {
    let [cut, times, data @ ..] = data else { return };
    // Long lines are made of short inputs: some bytes, many times over.
    let long = match times {
        0xf0.. => data.repeat(1 << (times & 0x0f)),
        _ => data.to_vec(),
    };
    let bytes = long.as_slice();
    let piece = [1, 2, 7, 1 << 10, 8 << 10, 64 << 10, 1 << 20, usize::MAX][usize::from(cut & 7)];
    if bytes.len() > 1_200_000 || bytes.len() / piece > 4_096 {
        return;
    }
    let found = read(bytes, piece);
    for line in found.iter().flatten().flatten() {
        assert!(!line.contains(&b'\n') && !line.is_empty() && line.len() <= 256 << 10);
        match read_request(line) {
            Ok(request) => {
                let value: serde_json::Value =
                    serde_json::from_slice(line).unwrap_or(serde_json::Value::Null);
                // What is read is what stands there, unless it stands there twice or too deep.
                if let (Ok(params), Some(stands)) = (request.params(), value.get("params")) {
                    assert_eq!(&params, stands);
                }
            }
            Err((_, fault)) => assert_eq!(fault.code, FaultCode::InvalidRequest),
        }
    }
    // However it is cut, it is the same. Only where an endless line ends depends on how much came at once.
    let whole = read(bytes, 4 << 10);
    if !found.contains(&Ok(None)) && !whole.contains(&Ok(None)) {
        assert_eq!(found, whole);
    }
});
