//! A JSON file's text.

use crate::problem::Problem;
use crate::text::text_of;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// It is kept with the unit, and sent over the wire whole.
const MOST: u64 = 256 << 10;

#[derive(Debug)]
pub(crate) enum Unread {
    /// Why there is no text at all.
    Closed(String),
    /// Where it is no text.
    Bad(Problem),
}

/// Without the mark of its encoding that some editors begin a file with.
pub(crate) fn open(path: &Path) -> Result<String, Unread> {
    let closed = |error: std::io::Error| {
        Unread::Closed(match error.kind() {
            ErrorKind::NotFound => "there is no such file".to_owned(),
            ErrorKind::NotADirectory => "a part of its path is not a folder".to_owned(),
            ErrorKind::PermissionDenied => "you may not read it".to_owned(),
            _ => error.to_string(),
        })
    };
    // Opening a pipe would wait for whoever writes into it.
    if !std::fs::metadata(path).map_err(closed)?.is_file() {
        return Err(Unread::Closed("it is not a file".to_owned()));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(closed)?;
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(closed)?;
    if bytes.len() as u64 > MOST {
        return Err(Unread::Closed(format!("it is longer than {} KiB", MOST >> 10)));
    }
    let text = text_of(path, bytes).map_err(Unread::Bad)?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}
