//! The base of the black-box tests: a home for each test, the real executable, the kernel's
//! view of the processes, and a real terminal.
//!
//! Nothing here knows how Ostler works inside. The one exception is the registry's file, which a few
//! tests change from outside to create a state that they cannot reach otherwise.

mod app_socket;
mod call;
mod control_socket;
mod home;
mod process;
mod registry;
mod skip;
mod terminal;
mod waiting;

pub use app_socket::Wire;
pub use call::{Background, Output};
pub use control_socket::ControlSocket;
pub use home::{Home, STRANGER};
pub use process::{Bystander, Process, boot_id, processes_with, signal};
pub use registry::Registry;
pub use rustix::process::Signal;
pub use skip::{is_installed, is_root, skipped};
pub use terminal::Terminal;
pub use waiting::{PATIENCE, eventually, eventually_within};

/// A helper program of this crate by its name, for use inside of the crate's tests.
#[macro_export]
macro_rules! helper {
    ($name:literal) => {
        env!(concat!("CARGO_BIN_EXE_", $name))
    };
}

/// The programs that a test needs: if one of them is missing, the test is skipped and counted.
#[macro_export]
macro_rules! needs {
    ($($program:literal),+) => {
        if let Some(missing) = [$($program),+].into_iter().find(|name| !$crate::is_installed(name)) {
            $crate::skipped(&format!("{missing} is not installed"));
            return;
        }
    };
}
