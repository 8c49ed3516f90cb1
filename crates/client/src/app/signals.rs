//! SIGTERM and SIGINT request a stop.

use super::error::AppError;
use super::link::Link;
use super::run::thread;
use super::stop::{Stop, StopRequester};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::sync::Arc;

/// Handles the signals until it is dropped.
pub(super) struct Listening {
    handle: Handle,
}

impl Listening {
    pub(super) fn begin(link: &Arc<Link>) -> Result<Self, AppError> {
        let refused = |source| AppError::System { what: "to listen for signals", source };
        let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(refused)?;
        let handle = signals.handle();
        thread("ostler-signals", link, move |link| {
            for signal in signals.forever() {
                let name = if signal == SIGTERM { "SIGTERM" } else { "SIGINT" };
                link.ask(Stop::new(name, link.shutdown_timeout, StopRequester::Own));
            }
        })?;
        Ok(Self { handle })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.handle.close();
    }
}
