//! A table that fits the terminal: one line per row. Long texts are shortened; if that is not enough, whole columns are
//! left out by rank.

use super::paint::{Colours, Paint};
use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// What happens to a column when the table is too wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The column keeps its width.
    Fixed,
    /// The column is shortened to at least this width.
    Shrinks(usize),
    /// The column is left out; the lowest rank first.
    Dropped(u8),
}

#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub head: &'static str,
    pub align: Align,
    pub fit: Fit,
}

#[derive(Clone, Debug, Default)]
pub struct Cell {
    pub text: String,
    pub paint: Paint,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, paint: Paint::Plain }
    }
}

const BETWEEN: usize = 2;

/// The width of each column; `None` for a column that is left out.
pub fn widths(columns: &[Column], rows: &[Vec<Cell>], most: Option<usize>) -> Vec<Option<usize>> {
    let natural: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let cells = rows.iter().filter_map(|row| row.get(index));
            cells.map(|cell| width(&cell.text)).max().unwrap_or(0).max(width(column.head))
        })
        .collect();
    let mut shown: Vec<Option<usize>> = natural.iter().copied().map(Some).collect();
    let Some(most) = most else { return shown };
    let least = |index: usize, width: usize| match columns[index].fit {
        Fit::Shrinks(least) => width.min(least),
        Fit::Fixed | Fit::Dropped(_) => width,
    };
    let needed = |shown: &[Option<usize>]| {
        let widths: Vec<usize> = (0..shown.len())
            .filter_map(|index| shown[index].map(|width| least(index, width)))
            .collect();
        widths.iter().sum::<usize>() + BETWEEN * widths.len().saturating_sub(1)
    };
    while needed(&shown) > most {
        let next = (0..columns.len())
            .filter(|index| shown[*index].is_some())
            .filter_map(|index| match columns[index].fit {
                Fit::Dropped(rank) => Some((rank, index)),
                Fit::Fixed | Fit::Shrinks(_) => None,
            })
            .min();
        let Some((_, index)) = next else { break };
        shown[index] = None;
    }
    let mut spare = most.saturating_sub(needed(&shown));
    for index in 0..columns.len() {
        if let Some(width) = shown[index]
            && matches!(columns[index].fit, Fit::Shrinks(_))
        {
            let least = least(index, width);
            let given = spare.min(width - least);
            spare -= given;
            shown[index] = Some(least + given);
        }
    }
    shown
}

/// The table with its header, without a newline at the end.
pub fn table(
    columns: &[Column],
    rows: &[Vec<Cell>],
    most: Option<usize>,
    colours: Colours,
) -> String {
    let widths = widths(columns, rows, most);
    let head: Vec<Cell> = columns.iter().map(|column| column.head.to_owned().into()).collect();
    let mut text = String::new();
    for row in std::iter::once(&head).chain(rows) {
        if !text.is_empty() {
            text.push('\n');
        }
        each_piece(columns, row, &widths, most, |gap, piece, paint| {
            text.extend(std::iter::repeat_n(' ', gap));
            text += &colours.paint(paint, &piece);
        });
    }
    text
}

/// The cells of one row and the spaces between them, without trailing spaces.
#[cfg(feature = "top")]
pub fn parts(
    columns: &[Column],
    row: &[Cell],
    widths: &[Option<usize>],
    most: Option<usize>,
) -> Vec<(String, Paint)> {
    let mut parts = Vec::new();
    each_piece(columns, row, widths, most, |gap, piece, paint| {
        if gap > 0 {
            parts.push((" ".repeat(gap), Paint::Plain));
        }
        parts.push((piece.into_owned(), paint));
    });
    parts
}

/// Calls `take` for each visible cell of one row, with the number of spaces before it.
fn each_piece(
    columns: &[Column],
    row: &[Cell],
    widths: &[Option<usize>],
    most: Option<usize>,
    mut take: impl FnMut(usize, Cow<'_, str>, Paint),
) {
    let mut used = 0;
    let mut unsaved = 0;
    for ((column, cell), width) in columns.iter().zip(row).zip(widths) {
        let Some(width) = *width else { continue };
        let left = most.map_or(width, |most| width.min(most.saturating_sub(used + unsaved)));
        let (piece, wide) = fitted(&cell.text, left);
        if piece.is_empty() {
            unsaved += width + BETWEEN;
            continue;
        }
        let gap = width.saturating_sub(wide);
        let before = if column.align == Align::Right { gap } else { 0 };
        take(unsaved + before, piece, cell.paint);
        used += unsaved + before + wide;
        unsaved = gap - before + BETWEEN;
    }
}

/// Shortens a text to this width, in one line and without control characters.
pub fn cut(text: &str, width: usize) -> String {
    fitted(text, width).0.into_owned()
}

/// Like [`cut`], with the resulting width.
fn fitted(text: &str, most: usize) -> (Cow<'_, str>, usize) {
    if is_plain(text) && text.len() <= most {
        return (text.into(), text.len());
    }
    let harmless = |c: char| if c.is_control() { ' ' } else { c };
    if text.width() <= most {
        let whole: String = text.chars().map(harmless).collect();
        let wide = whole.width();
        return (whole.into(), wide);
    }
    let mut short = String::new();
    let mut used = 0;
    for c in text.chars().map(harmless) {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > most {
            break;
        }
        used += wide;
        short.push(c);
    }
    if most > 0 {
        short.push('…');
    }
    let wide = short.width();
    (short.into(), wide)
}

/// Whether the text is printable ASCII, so that each byte takes one column. Nearly every cell is.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

fn width(text: &str) -> usize {
    if is_plain(text) { text.len() } else { text.width() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] = [
        Column { head: "UNIT", align: Align::Left, fit: Fit::Fixed },
        Column { head: "WHY", align: Align::Left, fit: Fit::Shrinks(5) },
        Column { head: "PID", align: Align::Right, fit: Fit::Dropped(1) },
        Column { head: "UPTIME", align: Align::Right, fit: Fit::Dropped(0) },
    ];

    fn rows() -> Vec<Vec<Cell>> {
        let row = ["bot", "waits for a database", "4711", "3.2s"];
        vec![row.map(|text| Cell::from(text.to_owned())).to_vec()]
    }

    #[test]
    fn wide_columns_shrink_and_the_least_important_are_dropped() {
        let fit = |most| {
            let table = table(&COLUMNS, &rows(), most, Colours::Off);
            table.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(
            fit(None),
            [
                "UNIT  WHY                    PID  UPTIME",
                "bot   waits for a database  4711    3.2s"
            ]
        );
        assert_eq!(
            fit(Some(30)),
            ["UNIT  WHY          PID  UPTIME", "bot   waits for…  4711    3.2s"]
        );
        assert_eq!(fit(Some(20)), ["UNIT  WHY        PID", "bot   waits f…  4711"]);
        assert_eq!(fit(Some(12)), ["UNIT  WHY", "bot   waits…"]);
        assert_eq!(fit(Some(3)), ["UN…", "bot"]);
    }

    #[test]
    fn control_characters_are_removed_from_cells() {
        assert_eq!(cut("a\x1b[2Jb\n", 20), "a [2Jb ");
        assert_eq!(cut("日本語", 5), "日本…");
    }
}
