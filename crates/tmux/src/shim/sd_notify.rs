//! What the shim says to whoever started it, in the words of sd_notify.

use std::os::unix::net::UnixDatagram;

pub(crate) struct ShimNotify {
    socket: Option<(UnixDatagram, String)>,
}

impl ShimNotify {
    /// Silent where the program speaks for itself.
    pub(crate) fn open(speaks: bool) -> Self {
        let place = std::env::var("NOTIFY_SOCKET").ok().filter(|place| !place.is_empty() && speaks);
        let socket = place.and_then(|place| Some((UnixDatagram::unbound().ok()?, place)));
        Self { socket }
    }

    pub(crate) fn say(&self, text: &str) {
        if let Some((socket, place)) = &self.socket {
            // Nobody may be there just now.
            let _ = socket.send_to(text.as_bytes(), place);
        }
    }
}
