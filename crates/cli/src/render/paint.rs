//! Colours for terminal output.

use ostler_model::UnitState;
use std::borrow::Cow;
use std::os::fd::AsFd;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    #[default]
    Plain,
    Bold,
    Dim,
    Green,
    Yellow,
    Red,
    Cyan,
    /// One of several colours that are easy to distinguish.
    Nth(usize),
}

impl Paint {
    pub fn of(state: UnitState) -> Self {
        match state {
            UnitState::Ready => Paint::Green,
            UnitState::Starting | UnitState::Stopping | UnitState::Waiting | UnitState::Backoff => {
                Paint::Yellow
            }
            UnitState::Error => Paint::Red,
            UnitState::Scheduled | UnitState::Queued | UnitState::Suspended => Paint::Cyan,
            UnitState::Stopped | UnitState::Done => Paint::Dim,
        }
    }

    fn code(self) -> Option<&'static str> {
        const SEVERAL: [&str; 6] = ["36", "33", "32", "35", "34", "96"];
        match self {
            Paint::Plain => None,
            Paint::Bold => Some("1"),
            Paint::Dim => Some("2"),
            Paint::Green => Some("32"),
            Paint::Yellow => Some("33"),
            Paint::Red => Some("31"),
            Paint::Cyan => Some("36"),
            Paint::Nth(number) => Some(SEVERAL[number % SEVERAL.len()]),
        }
    }
}

/// Whether output is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    On,
    Off,
}

impl Colours {
    pub fn of_output() -> Self {
        Self::of(std::io::stdout())
    }

    /// The setting for standard error.
    pub fn of_diagnostics() -> Self {
        Self::of(std::io::stderr())
    }

    /// On only for a terminal with colours, unless `NO_COLOR` is set (no-color.org).
    fn of(stream: impl AsFd) -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if ostler_os::is_terminal(stream) && !is_set("NO_COLOR") && !is_dumb {
            Colours::On
        } else {
            Colours::Off
        }
    }

    pub fn paint(self, paint: Paint, text: &str) -> Cow<'_, str> {
        match (self, paint.code()) {
            (Colours::On, Some(code)) => format!("\x1b[{code}m{text}\x1b[0m").into(),
            (Colours::On, None) | (Colours::Off, _) => text.into(),
        }
    }
}
