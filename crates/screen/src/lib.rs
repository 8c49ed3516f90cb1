//! A terminal's screen: drawn from what a program writes, or from what tmux captured, and read as text.

mod capture;
mod contain;
mod emulator;
mod said;
mod text;

pub use capture::from_capture;
pub use contain::panic_is_contained;
pub use emulator::Emulator;
