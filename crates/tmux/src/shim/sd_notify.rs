//! Sends the shim's sd_notify messages to the supervisor.

use std::os::unix::net::UnixDatagram;

pub(crate) struct ShimNotify {
    socket: Option<(UnixDatagram, String)>,
}

impl ShimNotify {
    /// Sends nothing if the program sends its own messages.
    pub(crate) fn open(speaks: bool) -> Self {
        let place = std::env::var("NOTIFY_SOCKET").ok().filter(|place| !place.is_empty() && speaks);
        let socket = place.and_then(|place| Some((UnixDatagram::unbound().ok()?, place)));
        Self { socket }
    }

    pub(crate) fn say(&self, text: &str) {
        if let Some((socket, place)) = &self.socket {
            // The supervisor may be down.
            let _ = socket.send_to(text.as_bytes(), place);
        }
    }
}
