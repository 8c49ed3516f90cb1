//! A JSON file's text.

use crate::problem::Problem;
use crate::read::read_file;
use crate::text::text_of;
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
    let bytes = read_file(path, MOST).map_err(Unread::Closed)?;
    let text = text_of(path, bytes).map_err(Unread::Bad)?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}
