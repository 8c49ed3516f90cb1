//! What holds for every stream of bytes on the app socket.

use ostler_model::app_wire::{FaultCode, Line, Lines, read_request};

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

/// How much comes at once.
pub fn piece(choice: u8) -> usize {
    [1, 2, 7, 1 << 10, 8 << 10, 64 << 10, 1 << 20, usize::MAX][usize::from(choice & 7)]
}

/// It is lines, each is a request or a fault, and it is the same however it is cut.
pub fn check_stream(bytes: &[u8], piece: usize) {
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
}
