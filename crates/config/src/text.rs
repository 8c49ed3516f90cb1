//! Decodes text.

use crate::findings::place;
use crate::problem::Problem;
use std::path::Path;

/// Decodes a file's bytes as UTF-8.
pub fn text_of(file: &Path, bytes: Vec<u8>) -> Result<String, Problem> {
    let problem = |place, message: &str, hint: &str| Problem {
        file: file.to_owned(),
        place,
        message: message.to_owned(),
        hint: Some(hint.to_owned()),
    };
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(problem(None, "the file is UTF-16 text", "save it as UTF-8"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        // Each invalid sequence becomes one replacement character.
        let shown = String::from_utf8_lossy(error.as_bytes());
        problem(
            Some(place(&shown, at..at + 1)),
            "the file is not text in UTF-8 from here on",
            "save it as UTF-8, or check that this is the right file",
        )
    })
}
