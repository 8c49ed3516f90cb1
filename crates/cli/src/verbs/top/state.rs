//! The state of the live view, and how keys change it.

use super::feed::Feed;
use crate::context::Context;
use crate::render::Colours;
use crate::verbs::logs::{self, Line};
use crate::verbs::unit;
use ostler_model::{Depth, UnitLook};
use ratatui::crossterm::event::KeyCode;
use std::collections::VecDeque;
use std::sync::mpsc;

/// How many log lines are kept for scrolling.
const KEPT_LINES: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Table,
    Filter,
    Logs,
    Status,
}

pub struct State {
    feed: Feed,
    pub mode: Mode,
    pub units: Vec<UnitLook>,
    pub filter: String,
    pub message: String,
    /// The selected unit, by name, because rows can move.
    chosen: Option<String>,
    /// The first visible row.
    pub first: usize,
    /// How many rows fit on the screen, from the last drawing.
    pub visible: usize,
    /// The lines of the open log or status. `scrolled` counts from the end of a log, or from the beginning of a status.
    pub page: VecDeque<String>,
    pub scrolled: usize,
    pub title: String,
    pub colours: Colours,
    log: Option<mpsc::Receiver<Line>>,
}

impl State {
    pub fn new(feed: Feed) -> Self {
        Self {
            feed,
            mode: Mode::Table,
            units: Vec::new(),
            filter: String::new(),
            message: String::new(),
            chosen: None,
            first: 0,
            visible: 0,
            page: VecDeque::new(),
            scrolled: 0,
            title: String::new(),
            colours: Colours::of_output(),
            log: None,
        }
    }

    /// The units that match the filter.
    pub fn shown(&self) -> Vec<&UnitLook> {
        let is_shown = |look: &&UnitLook| look.view.name.contains(&self.filter);
        self.units.iter().filter(is_shown).collect()
    }

    pub fn cursor(&self) -> usize {
        let chosen = self.chosen.as_deref().unwrap_or_default();
        self.shown().iter().position(|look| look.view.name == chosen).unwrap_or(0)
    }

    pub fn selected(&self) -> Option<String> {
        self.shown().get(self.cursor()).map(|look| look.view.name.clone())
    }

    pub fn notify(&mut self, message: String) {
        self.message = message;
    }

    pub fn refresh(&mut self, context: &Context, height: usize) {
        let visible = if self.visible == 0 { height } else { self.visible };
        let seen = self.shown();
        let seen: Vec<String> =
            seen.iter().skip(self.first).take(visible).map(|look| look.view.name.clone()).collect();
        match self.feed.units(&seen) {
            Ok(units) => self.units = units,
            Err(failure) => self.message = failure.description(),
        }
        if self.mode == Mode::Status {
            self.read_status(context);
        }
    }

    pub fn walk(&mut self, key: KeyCode) {
        let count = self.shown().len();
        if count == 0 {
            return;
        }
        let (cursor, page) = (self.cursor(), self.visible.max(2) - 1);
        let next = match key {
            KeyCode::Up | KeyCode::Char('k') => cursor.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => cursor + 1,
            KeyCode::PageUp => cursor.saturating_sub(page),
            KeyCode::PageDown => cursor + page,
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => count - 1,
            _ => return,
        };
        let name = self.shown()[next.min(count - 1)].view.name.clone();
        self.chosen = Some(name);
    }

    pub fn begin_filter(&mut self) {
        self.mode = Mode::Filter;
    }

    pub fn clear_filter(&mut self) {
        self.filter.clear();
    }

    pub fn type_filter(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => self.mode = Mode::Table,
            KeyCode::Esc => {
                self.filter.clear();
                self.mode = Mode::Table;
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char(c) => self.filter.push(c),
            _ => {}
        }
    }

    pub fn leave_page(&mut self) {
        self.mode = Mode::Table;
        self.page.clear();
        // The reading thread ends when it fails to send its next line.
        self.log = None;
    }

    pub fn open_logs(&mut self, context: &Context) {
        let Some(name) = self.selected() else { return };
        self.log = Some(logs::follow_unit(context, &name, KEPT_LINES as u64));
        self.page.clear();
        self.scrolled = 0;
        self.title = format!("log of {name}");
        self.mode = Mode::Logs;
    }

    /// Reads new log lines; returns whether there were any.
    pub fn read_log(&mut self) -> bool {
        let Some(log) = &self.log else { return false };
        let before = self.page.len();
        let mut received = 0;
        for line in log.try_iter().take(KEPT_LINES) {
            self.page.push_back(line.text);
            received += 1;
        }
        while self.page.len() > KEPT_LINES {
            self.page.pop_front();
        }
        if self.scrolled > 0 {
            // Keep the visible lines in place while new ones arrive.
            self.scrolled = (self.scrolled + received).min(before + received);
        }
        received > 0
    }

    pub fn open_status(&mut self, context: &Context) {
        let Some(name) = self.selected() else { return };
        self.title = format!("status of {name}");
        self.chosen = Some(name);
        self.scrolled = 0;
        self.mode = Mode::Status;
        self.read_status(context);
    }

    fn read_status(&mut self, context: &Context) {
        let Some(name) = self.selected() else { return };
        let description = || {
            let mut client = context.connect_running()?;
            let looks = unit::look(&mut client, vec![name.clone()], Depth::Tree)?;
            let Some(look) = looks.first() else { return Ok(vec![format!("{name} was removed")]) };
            unit::description(context, &mut client, look, Colours::Off)
        };
        self.page = match description() {
            Ok(lines) => lines.into(),
            Err(failure) => VecDeque::from([failure.description()]),
        };
    }

    /// Scrolls. A log counts from its end, a status from its beginning.
    pub fn scroll(&mut self, key: KeyCode) {
        let page = self.visible.max(2) - 1;
        let most = self.page.len().saturating_sub(self.visible);
        let (up, down): (isize, isize) = if self.mode == Mode::Logs { (1, -1) } else { (-1, 1) };
        let step = match key {
            KeyCode::Up | KeyCode::Char('k') => up,
            KeyCode::Down | KeyCode::Char('j') => down,
            KeyCode::PageUp => up * page as isize,
            KeyCode::PageDown | KeyCode::Char(' ') => down * page as isize,
            KeyCode::Home | KeyCode::Char('g') => up * most as isize,
            KeyCode::End | KeyCode::Char('G') => down * most as isize,
            _ => return,
        };
        self.scrolled = self.scrolled.saturating_add_signed(step).min(most);
    }
}
