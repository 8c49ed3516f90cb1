//! A program's output must not be able to crash its reader: a panic of the emulator is caught here.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic on this thread would be caught now. Any other panic ends the process.
pub fn panic_is_contained() -> bool {
    CONTAINED.get()
}

pub(crate) fn contained<T>(work: impl FnOnce() -> T) -> Option<T> {
    CONTAINED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(false);
    outcome.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_emulator_is_contained() {
        assert!(!panic_is_contained());
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| assert!(panic_is_contained())));
        assert_eq!(
            contained(|| if panic_is_contained() {
                panic!("a panic of the emulator")
            }),
            None
        );
        std::panic::set_hook(hook);
        assert!(!panic_is_contained());
    }
}
