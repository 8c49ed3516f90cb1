//! What a person would see on a PTY run's terminal.

use ostler_model::TerminalSize;
use std::num::NonZeroU16;

pub(crate) struct Screen {
    parser: vt100::Parser,
    offset: u64,
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen").field("offset", &self.offset).finish_non_exhaustive()
    }
}

impl Screen {
    pub(crate) fn new(size: TerminalSize) -> Self {
        Self {
            parser: vt100::Parser::new(at_least_one(size.rows), at_least_one(size.columns), 0),
            offset: 0,
        }
    }

    pub(super) fn process(&mut self, bytes: &[u8], end: u64) {
        self.parser.process(bytes);
        self.offset = end;
    }

    pub(super) fn picture(&self) -> (Vec<u8>, u64) {
        (self.parser.screen().state_formatted().into(), self.offset)
    }

    pub(super) fn resize(&mut self, size: TerminalSize) {
        self.parser.screen_mut().set_size(at_least_one(size.rows), at_least_one(size.columns));
    }

    pub(super) fn size(&self) -> TerminalSize {
        let (rows, columns) = self.parser.screen().size();
        TerminalSize { columns: columns.get(), rows: rows.get() }
    }
}

fn at_least_one(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap_or(NonZeroU16::MIN)
}
