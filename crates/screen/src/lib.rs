//! A terminal's screen, drawn from a program's output or from a tmux capture, and read as text.

mod capture;
mod catch_panic;
mod charset;
mod emulator;
mod osc;
mod skin_tone;
mod text;

pub use capture::from_capture;
pub use catch_panic::panic_is_contained;
pub use emulator::Emulator;
