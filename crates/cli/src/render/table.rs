//! A table that fits: one line a row. The widest text gives way first, then the columns that are missed least.

use super::paint::{Colours, Paint};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// What happens to a column where there is not enough room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// It stays.
    Keeps,
    /// It is cut, but not below this.
    GivesWay(usize),
    /// It is left out; the lowest first.
    IsLeftOut(u8),
}

#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub head: &'static str,
    pub align: Align,
    pub room: Room,
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

/// How wide each column is; `None` for one that is left out.
pub fn widths(columns: &[Column], rows: &[Vec<Cell>], most: Option<usize>) -> Vec<Option<usize>> {
    let natural: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let cells = rows.iter().filter_map(|row| row.get(index));
            cells.map(|cell| cell.text.width()).max().unwrap_or(0).max(column.head.width())
        })
        .collect();
    let mut shown: Vec<Option<usize>> = natural.iter().copied().map(Some).collect();
    let Some(most) = most else { return shown };
    let least = |index: usize, width: usize| match columns[index].room {
        Room::GivesWay(least) => width.min(least),
        Room::Keeps | Room::IsLeftOut(_) => width,
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
            .filter_map(|index| match columns[index].room {
                Room::IsLeftOut(rank) => Some((rank, index)),
                Room::Keeps | Room::GivesWay(_) => None,
            })
            .min();
        let Some((_, index)) = next else { break };
        shown[index] = None;
    }
    let mut spare = most.saturating_sub(needed(&shown));
    for index in 0..columns.len() {
        if let Some(width) = shown[index]
            && matches!(columns[index].room, Room::GivesWay(_))
        {
            let least = least(index, width);
            let given = spare.min(width - least);
            spare -= given;
            shown[index] = Some(least + given);
        }
    }
    shown
}

/// The lines of the table, its head first.
pub fn lines(
    columns: &[Column],
    rows: &[Vec<Cell>],
    most: Option<usize>,
    colours: Colours,
) -> Vec<String> {
    let widths = widths(columns, rows, most);
    let head: Vec<Cell> = columns.iter().map(|column| column.head.to_owned().into()).collect();
    let all = std::iter::once(&head).chain(rows);
    all.map(|row| line(columns, row, &widths, most, colours)).collect()
}

fn line(
    columns: &[Column],
    row: &[Cell],
    widths: &[Option<usize>],
    most: Option<usize>,
    colours: Colours,
) -> String {
    let parts = parts(columns, row, widths, most);
    parts.into_iter().map(|(text, paint)| colours.paint(paint, &text)).collect()
}

/// The pieces of one row, with the room between them; none at its end.
pub fn parts(
    columns: &[Column],
    row: &[Cell],
    widths: &[Option<usize>],
    most: Option<usize>,
) -> Vec<(String, Paint)> {
    let mut parts = Vec::new();
    let mut used = 0;
    let mut owed = 0;
    for ((column, cell), width) in columns.iter().zip(row).zip(widths) {
        let Some(width) = *width else { continue };
        let left = most.map_or(width, |most| width.min(most.saturating_sub(used + owed)));
        let text = cut(&cell.text, left);
        if text.is_empty() {
            owed += width + BETWEEN;
            continue;
        }
        let gap = width.saturating_sub(text.width());
        let before = if column.align == Align::Right { gap } else { 0 };
        if owed + before > 0 {
            parts.push((" ".repeat(owed + before), Paint::Plain));
        }
        used += owed + before + text.width();
        owed = gap - before + BETWEEN;
        parts.push((text, cell.paint));
    }
    parts
}

/// So much of it as fits, in one line, without anything that would move the cursor.
pub fn cut(text: &str, width: usize) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    if text.width() <= width {
        return text.chars().map(plain).collect();
    }
    let mut short = String::new();
    let mut used = 0;
    for c in text.chars().map(plain) {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        short.push(c);
    }
    if width > 0 {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] = [
        Column { head: "UNIT", align: Align::Left, room: Room::Keeps },
        Column { head: "WHY", align: Align::Left, room: Room::GivesWay(5) },
        Column { head: "PID", align: Align::Right, room: Room::IsLeftOut(1) },
        Column { head: "UPTIME", align: Align::Right, room: Room::IsLeftOut(0) },
    ];

    fn rows() -> Vec<Vec<Cell>> {
        let row = ["bot", "waits for a database", "4711", "3.2s"];
        vec![row.map(|text| Cell::from(text.to_owned())).to_vec()]
    }

    #[test]
    fn what_is_wide_gives_way_and_what_is_missed_least_is_left_out() {
        let fit = |most| lines(&COLUMNS, &rows(), most, Colours::Off);
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
    fn nothing_moves_the_cursor() {
        assert_eq!(cut("a\x1b[2Jb\n", 20), "a [2Jb ");
        assert_eq!(cut("日本語", 5), "日本…");
    }
}
