//! A run's terminal screen, and how much of the run's output is drawn on it.

use ostler_model::ScreenText;
use ostler_model::TerminalSize;
use ostler_os::PaneNote;
use ostler_screen::Emulator;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct Screen {
    emulator: Emulator,
    offset: u64,
    /// The pane whose size the screen follows, if the size is not ours to set.
    pane: Option<PaneTerminal>,
    /// An adopted run's screen is not drawn before it is needed.
    is_undrawn: bool,
}

impl Screen {
    pub(crate) fn new(size: TerminalSize) -> Self {
        Self { emulator: Emulator::new(size), offset: 0, pane: None, is_undrawn: false }
    }

    /// For a run in a tmux session: attached clients change its size. The note names its terminal.
    pub(crate) fn pane_program(self, note: PathBuf) -> Self {
        Self { pane: Some(PaneTerminal { note, terminal: None }), ..self }
    }

    pub(crate) fn undrawn(size: TerminalSize) -> Self {
        Self { is_undrawn: true, ..Self::new(size) }
    }

    pub(super) fn is_undrawn(&self) -> bool {
        self.is_undrawn
    }

    /// Some output was not drawn; it is only on disk.
    pub(super) fn lose(&mut self) {
        self.emulator = Emulator::new(self.emulator.size());
        self.is_undrawn = true;
    }

    /// Follows the terminal's size, which may have changed since the last look.
    pub(super) fn follow_size(&mut self) {
        if let Some(size) =
            self.pane.as_mut().and_then(PaneTerminal::size).map(TerminalSize::clamped)
            && size != self.emulator.size()
        {
            self.emulator.resize(size);
        }
    }

    /// Whether the program in the pane reads a line that its terminal does not show. Unknown without a pane.
    pub(super) fn hides_input(&mut self) -> bool {
        let terminal = self.pane.as_mut().and_then(PaneTerminal::terminal);
        terminal.is_some_and(|terminal| ostler_os::is_hidden(terminal).unwrap_or(false))
    }

    /// Draws from the last known output.
    pub(super) fn draw(&mut self, bytes: &[u8], end: u64) {
        self.is_undrawn = false;
        self.process(bytes, end);
        // The queries in old output were answered, or were in vain.
        self.emulator.take_replies();
    }

    pub(super) fn take_replies(&mut self) -> Vec<u8> {
        self.emulator.take_replies()
    }

    pub(super) fn process(&mut self, bytes: &[u8], end: u64) {
        if self.is_undrawn {
            return;
        }
        self.follow_size();
        self.emulator.process(bytes);
        self.offset = end;
    }

    pub(super) fn picture(&self) -> (Vec<u8>, u64) {
        (self.emulator.picture(), self.offset)
    }

    /// The screen as text.
    pub(super) fn text(&self) -> ScreenText {
        self.emulator.text()
    }

    pub(super) fn resize(&mut self, size: TerminalSize) {
        self.emulator.resize(size);
    }

    pub(super) fn size(&self) -> TerminalSize {
        self.emulator.size()
    }
}

/// A terminal whose other side belongs to another program.
#[derive(Debug)]
struct PaneTerminal {
    note: PathBuf,
    terminal: Option<PathBuf>,
}

impl PaneTerminal {
    fn size(&mut self) -> Option<TerminalSize> {
        ostler_os::terminal_size_at(self.terminal()?)
    }

    fn terminal(&mut self) -> Option<&Path> {
        if self.terminal.is_none() {
            self.terminal = PaneNote::read(&self.note)?.terminal();
        }
        self.terminal.as_deref()
    }
}
