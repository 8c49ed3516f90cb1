//! A terminal's screen: drawn from what a program writes, or from what tmux captured, and read as text.

mod capture;
mod catch_panic;
mod emulator;
mod osc;
mod text;

pub use capture::from_capture;
pub use catch_panic::panic_is_contained;
pub use emulator::Emulator;
