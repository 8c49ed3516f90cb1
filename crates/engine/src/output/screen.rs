//! What a person would see on a run's terminal, and how much of its output is drawn.

use ostler_model::TerminalSize;
use ostler_model::wire::ScreenText;
use ostler_screen::Emulator;

#[derive(Debug)]
pub(crate) struct Screen {
    emulator: Emulator,
    offset: u64,
    /// Of a run we took up: nothing is drawn before somebody looks.
    is_undrawn: bool,
}

impl Screen {
    pub(crate) fn new(size: TerminalSize) -> Self {
        Self { emulator: Emulator::new(size), offset: 0, is_undrawn: false }
    }

    pub(crate) fn undrawn(size: TerminalSize) -> Self {
        Self { is_undrawn: true, ..Self::new(size) }
    }

    pub(super) fn is_undrawn(&self) -> bool {
        self.is_undrawn
    }

    /// From the last that is known.
    pub(super) fn draw(&mut self, bytes: &[u8], end: u64) {
        self.is_undrawn = false;
        self.process(bytes, end);
    }

    pub(super) fn process(&mut self, bytes: &[u8], end: u64) {
        if self.is_undrawn {
            return;
        }
        self.emulator.process(bytes);
        self.offset = end;
    }

    pub(super) fn picture(&self) -> (Vec<u8>, u64) {
        (self.emulator.picture(), self.offset)
    }

    /// The same as text.
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
