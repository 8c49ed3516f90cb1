//! The progress display while a verb waits for units: one line per unit, or one line for all if the terminal is small.

use super::paint::{Colours, Paint};
use super::table::cut;
use ostler_model::{TerminalSize, UnitState, UnitView};
use ostler_ops::units::AwaitUntil;
use std::collections::BTreeMap;
use unicode_width::UnicodeWidthStr;

/// A line, and its width without colour codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgressLine {
    pub text: String,
    pub width: usize,
}

/// The units waited for, in their present state. A unit without a view no longer exists.
pub struct Progress<'a> {
    pub names: &'a [String],
    pub until: AwaitUntil,
    pub views: BTreeMap<&'a str, &'a UnitView>,
    pub now_ms: u64,
}

impl Progress<'_> {
    /// The lines, never wider than the terminal and never so many that it scrolls.
    pub fn lines(&self, size: TerminalSize, colours: Colours) -> Vec<ProgressLine> {
        let columns = usize::from(size.columns).saturating_sub(1);
        if self.names.len() < usize::from(size.rows) {
            let widest = self.names.iter().map(|name| name.width()).max().unwrap_or(0);
            let wide = widest.min(columns / 2);
            self.names.iter().map(|name| self.line(name, wide, columns, colours)).collect()
        } else {
            let text = cut(&self.summary(), columns);
            vec![ProgressLine { width: text.width(), text }]
        }
    }

    fn line(&self, name: &str, wide: usize, columns: usize, colours: Colours) -> ProgressLine {
        let short = cut(name, wide);
        let gap = " ".repeat(wide.saturating_sub(short.width()) + 2);
        let (paint, doing, rest) = self.doing(name);
        let parts = [(Paint::Plain, short + &gap), (paint, doing), (Paint::Plain, rest)];
        let mut shown = ProgressLine { text: String::new(), width: 0 };
        for (paint, text) in parts {
            let text = cut(&text, columns - shown.width);
            shown.width += text.width();
            shown.text += &colours.paint(paint, &text);
        }
        shown
    }

    fn doing(&self, name: &str) -> (Paint, String, String) {
        let Some(view) = self.views.get(name) else {
            return (Paint::Dim, "gone".to_owned(), String::new());
        };
        let paint = Paint::of(view.state);
        let why = if view.why.is_empty() { String::new() } else { format!(" ({})", view.why) };
        match view.state {
            // The reason alone: it begins with what the unit waits for or does.
            UnitState::Waiting | UnitState::Backoff => (paint, view.why.clone(), String::new()),
            UnitState::Starting | UnitState::Stopping => {
                let ms = self.now_ms.saturating_sub(view.since_ms);
                let description = format!("{} {}.{}s", view.state, ms / 1_000, ms % 1_000 / 100);
                (paint, description, why)
            }
            UnitState::Ready
            | UnitState::Queued
            | UnitState::Suspended
            | UnitState::Stopped
            | UnitState::Error
            | UnitState::Done
            | UnitState::Scheduled => {
                let pid = view.pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
                (paint, view.state.to_string(), why + &pid)
            }
        }
    }

    /// `17 of 40 ready, 1 failed, waiting for: db, web`
    fn summary(&self) -> String {
        let (mut done, mut failed, mut left) = (0, 0, Vec::new());
        for name in self.names {
            match (self.until, self.views.get(name.as_str()).map(|view| view.state)) {
                (_, None | Some(UnitState::Stopped)) => done += 1,
                (AwaitUntil::Settled, Some(state)) if state.is_well() => done += 1,
                (AwaitUntil::Settled, Some(UnitState::Error | UnitState::Backoff)) => failed += 1,
                (AwaitUntil::Settled | AwaitUntil::Stopped, Some(_)) => left.push(name.as_str()),
            }
        }
        let word = match self.until {
            AwaitUntil::Settled => "ready",
            AwaitUntil::Stopped => "stopped",
        };
        let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
        let left = match left.is_empty() {
            true => String::new(),
            false => format!(", waiting for: {}", left.join(", ")),
        };
        format!("{done} of {} {word}{failed}{left}", self.names.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_model::Desired;

    fn view(name: &str, state: UnitState, why: &str) -> UnitView {
        UnitView {
            name: name.to_owned(),
            state,
            desired: Desired::Running,
            why: why.to_owned(),
            since_ms: 1_000,
            run_id: None,
            pid: (state == UnitState::Ready).then_some(7),
            started_at_ms: None,
            restarts: 0,
            command: String::new(),
            depends_on: Vec::new(),
            changed: false,
            ends: Vec::new(),
            opened: None,
            next_at_ms: None,
            file: None,
            tmux: None,
            agent: None,
            part: None,
            pool: None,
            agent_session: None,
            kept_awake: None,
            probe_state: None,
            last_seen_running_at: None,
        }
    }

    fn shown(columns: u16, rows: u16, until: AwaitUntil) -> Vec<String> {
        let names = ["api", "db", "web", "bad", "old"].map(str::to_owned);
        let views = [
            view("api", UnitState::Ready, ""),
            view("db", UnitState::Starting, "waiting for READY=1 (1 s of 60 s)"),
            view("web", UnitState::Waiting, "waiting for db"),
            view("bad", UnitState::Error, "exit 78"),
        ];
        let progress = Progress {
            names: &names,
            until,
            views: views.iter().map(|view| (view.name.as_str(), view)).collect(),
            now_ms: 2_250,
        };
        let lines = progress.lines(TerminalSize { columns, rows }, Colours::Off);
        assert!(lines.iter().all(|line| line.width == line.text.width()));
        assert!(lines.iter().all(|line| line.width < usize::from(columns).max(1)), "{lines:?}");
        lines.into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn each_unit_has_a_line_if_the_terminal_is_high_enough() {
        assert_eq!(
            shown(80, 6, AwaitUntil::Settled),
            [
                "api  ready, pid 7",
                "db   starting 1.2s (waiting for READY=1 (1 s of 60 s))",
                "web  waiting for db",
                "bad  error (exit 78)",
                "old  gone",
            ]
        );
        assert_eq!(shown(15, 6, AwaitUntil::Settled)[1..3], ["db   starting…", "web  waiting …"]);
    }

    #[test]
    fn one_line_for_all_units_if_the_terminal_is_low() {
        let description = "2 of 5 ready, 1 failed, waiting for: db, web";
        assert_eq!(shown(80, 5, AwaitUntil::Settled), [description]);
        assert_eq!(
            shown(80, 1, AwaitUntil::Stopped),
            ["1 of 5 stopped, waiting for: api, db, web, bad"]
        );
        assert_eq!(shown(11, 5, AwaitUntil::Settled), ["2 of 5 re…"]);
        for columns in 0..12 {
            shown(columns, 6, AwaitUntil::Settled);
        }
    }
}
