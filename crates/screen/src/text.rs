//! The text of a screen.

use ostler_model::{ScreenCursor, ScreenSpot, ScreenText};

/// Everything except the title and the OSC commands.
pub(crate) fn text_of(screen: &vt100::Screen) -> ScreenText {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let mut lines: Vec<String> = screen.rows(0, columns).collect();
    let mut bright: Vec<String> = (0..rows).map(|row| bright_line(screen, row, columns)).collect();
    let (row, column) = screen.cursor_position();
    let skipped = " ".repeat(usize::from(column.saturating_sub(filled(screen, row, columns))));
    for lines in [&mut lines, &mut bright] {
        lines.get_mut(usize::from(row)).into_iter().for_each(|line| line.push_str(&skipped));
    }
    ScreenText {
        bright: if bright == lines { Vec::new() } else { bright },
        lines,
        inverse: (0..rows).flat_map(|row| lone_inverse(screen, row, columns)).collect(),
        cursor: ScreenCursor { row, column, is_visible: !screen.hide_cursor() },
        takes_paste: screen.bracketed_paste(),
        application_cursor: screen.application_cursor(),
        columns,
        rows,
        ..ScreenText::default()
    }
}

/// The columns up to the last one that was written.
fn filled(screen: &vt100::Screen, row: u16, columns: u16) -> u16 {
    let is_written = |column: &u16| {
        let cell = screen.cell(row, *column);
        cell.is_some_and(|cell| cell.has_contents() || cell.is_wide_continuation())
    };
    (0..columns).rev().find(is_written).map_or(0, |column| column + 1)
}

/// The line with dim cells as blanks: programs draw placeholders dim.
fn bright_line(screen: &vt100::Screen, row: u16, columns: u16) -> String {
    let mut line = String::new();
    let mut filled = 0;
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column) else { break };
        if cell.is_wide_continuation() || !cell.has_contents() {
            continue;
        }
        let width = if cell.is_wide() { 2 } else { 1 };
        line.extend(std::iter::repeat_n(' ', usize::from(column.saturating_sub(filled))));
        if cell.dim() {
            line.extend(std::iter::repeat_n(' ', usize::from(width)));
        } else {
            line.push_str(cell.contents());
        }
        filled = column + width;
    }
    line
}

/// Inverse cells without an inverse neighbour: cursors that programs draw themselves.
fn lone_inverse(
    screen: &vt100::Screen,
    row: u16,
    columns: u16,
) -> impl Iterator<Item = ScreenSpot> + '_ {
    let is_inverse = move |column: Option<u16>| {
        let cell = column.and_then(|column| screen.cell(row, column));
        cell.is_some_and(vt100::Cell::inverse)
    };
    (0..columns).filter_map(move |column| {
        let cell = screen.cell(row, column)?;
        if !cell.inverse() || cell.is_wide_continuation() {
            return None;
        }
        let left = column.checked_sub(1);
        let right = column.checked_add(if cell.is_wide() { 2 } else { 1 });
        (!is_inverse(left) && !is_inverse(right)).then_some(ScreenSpot { row, column })
    })
}
