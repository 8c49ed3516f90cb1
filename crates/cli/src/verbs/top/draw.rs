//! Draws the live view for any terminal size.

use super::state::{Mode, State};
use crate::render::{self, Colours, Paint};
use ostler_model::{AgentState, UnitLook, UnitState};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

pub fn draw(frame: &mut Frame<'_>, state: &mut State) {
    let area = frame.area();
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let mut lines = match state.mode {
        Mode::Table | Mode::Filter => table(state, width, height),
        Mode::Logs | Mode::Status => page(state, width, height),
    };
    // The last two lines show the message and the keys; a very small screen shows only rows.
    if height >= 4 {
        lines.resize(height - 2, Line::default());
        lines.push(Line::styled(
            render::cut(&foot(state), width),
            style(Paint::Yellow, state.colours),
        ));
        lines.push(keys(state.mode, width));
    }
    frame.render_widget(Paragraph::new(lines), Rect::new(0, 0, area.width, area.height));
}

fn foot(state: &State) -> String {
    match state.mode {
        Mode::Filter => format!("/{}_", state.filter),
        Mode::Table | Mode::Logs | Mode::Status => state.message.clone(),
    }
}

fn keys(mode: Mode, width: usize) -> Line<'static> {
    let text = match mode {
        Mode::Table => {
            "s start  x stop  r restart  l logs  a attach  enter status  / filter  q quit"
        }
        Mode::Filter => "enter done  esc clear",
        Mode::Logs | Mode::Status => "up down pgup pgdn home end  q back",
    };
    Line::styled(render::cut(text, width), Style::new().add_modifier(Modifier::DIM))
}

fn table(state: &mut State, width: usize, height: usize) -> Vec<Line<'static>> {
    let spared = if height >= 4 { 4 } else { 1 };
    let visible = height.saturating_sub(spared).max(1);
    let cursor = state.cursor();
    state.visible = visible;
    if cursor < state.first {
        state.first = cursor;
    } else if cursor >= state.first + visible {
        state.first = cursor + 1 - visible;
    }
    let now_ms = ostler_os::wall_ms();
    let shown = state.shown();
    let rows: Vec<Vec<render::Cell>> =
        shown.iter().map(|look| render::unit_row(look, now_ms)).collect();
    let widths = render::widths(&render::UNIT_COLUMNS, &rows, Some(width));
    let head: Vec<render::Cell> =
        render::UNIT_COLUMNS.iter().map(|column| column.head.to_owned().into()).collect();
    let line = |row: &[render::Cell]| {
        let parts = render::parts(&render::UNIT_COLUMNS, row, &widths, Some(width));
        let spans =
            parts.into_iter().map(|(text, paint)| Span::styled(text, style(paint, state.colours)));
        Line::from(spans.collect::<Vec<_>>())
    };
    let mut lines = Vec::new();
    if height >= 4 {
        lines.push(title(state, width, now_ms));
    }
    if height >= 2 {
        lines.push(line(&head).style(Style::new().add_modifier(Modifier::BOLD)));
    }
    for (index, row) in rows.iter().enumerate().skip(state.first).take(visible) {
        let mut shown = line(row);
        if index == cursor {
            let gap = width.saturating_sub(shown.width());
            shown.push_span(" ".repeat(gap));
            shown = shown.style(Style::new().add_modifier(Modifier::REVERSED));
        }
        lines.push(shown);
    }
    if rows.is_empty() {
        let description =
            if state.units.is_empty() { "no units yet" } else { "no unit matches the filter" };
        lines.push(Line::raw(description));
    }
    lines
}

fn title(state: &State, width: usize, now_ms: u64) -> Line<'static> {
    let count = |wanted: &[UnitState]| {
        state.units.iter().filter(|look| wanted.contains(&look.view.state)).count()
    };
    let ready = count(&[UnitState::Ready]);
    let bad = count(&[UnitState::Error, UnitState::Backoff]);
    let mut description =
        format!("ostler  {}: {ready} ready", render::count(state.units.len(), "unit"));
    if bad > 0 {
        description += &format!(", {bad} failing");
    }
    let waits = |look: &&UnitLook| {
        let agent = render::agent_of(&look.view);
        agent.is_some_and(|agent| agent.state == AgentState::Waiting)
    };
    match state.units.iter().filter(waits).count() {
        0 => {}
        1 => description += ", 1 waits for you",
        waiting => description += &format!(", {waiting} wait for you"),
    }
    if !state.filter.is_empty() {
        description += &format!("  /{}", state.filter);
    }
    description += &format!("  {}", render::plain_time(now_ms));
    Line::styled(render::cut(&description, width), Style::new().add_modifier(Modifier::BOLD))
}

fn page(state: &mut State, width: usize, height: usize) -> Vec<Line<'static>> {
    let spared = if height >= 4 { 3 } else { 0 };
    let visible = height.saturating_sub(spared).max(1);
    state.visible = visible;
    let most = state.page.len().saturating_sub(visible);
    state.scrolled = state.scrolled.min(most);
    let first = if state.mode == Mode::Logs { most - state.scrolled } else { state.scrolled };
    let mut lines = Vec::new();
    if height >= 4 {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        lines.push(Line::styled(render::cut(&state.title, width), bold));
    }
    let shown = state.page.iter().skip(first).take(visible);
    lines.extend(shown.map(|line| Line::raw(render::cut(line, width))));
    lines
}

fn style(paint: Paint, colours: Colours) -> Style {
    match paint {
        _ if colours == Colours::Off => Style::new(),
        Paint::Plain | Paint::Nth(_) => Style::new(),
        Paint::Bold => Style::new().add_modifier(Modifier::BOLD),
        Paint::Dim => Style::new().add_modifier(Modifier::DIM),
        Paint::Green => Style::new().fg(Color::Green),
        Paint::Yellow => Style::new().fg(Color::Yellow),
        Paint::Red => Style::new().fg(Color::Red),
        Paint::Cyan => Style::new().fg(Color::Cyan),
    }
}
