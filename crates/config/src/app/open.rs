//! Reads the text of a JSON file.

use crate::problem::Problem;
use crate::read::read_file;
use crate::text::text_of;
use std::path::Path;

/// The text is stored with the unit and sent in one message.
const MOST: u64 = 256 << 10;

#[derive(Debug)]
pub(crate) enum Unread {
    /// The file cannot be read.
    Closed(String),
    /// The content is not valid text.
    Bad(Problem),
}

/// Reads the text, without the byte order mark that some editors write.
pub(crate) fn open(path: &Path) -> Result<String, Unread> {
    let bytes = read_file(path, MOST).map_err(Unread::Closed)?;
    let text = text_of(path, bytes).map_err(Unread::Bad)?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}
