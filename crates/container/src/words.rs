//! What the shim says to whoever started it, in the words of sd_notify.

use std::os::unix::net::UnixDatagram;

pub(crate) struct Words {
    socket: Option<(UnixDatagram, String)>,
}

impl Words {
    pub(crate) fn open(get: impl Fn(&str) -> Option<String>) -> Self {
        let place = get("NOTIFY_SOCKET").filter(|place| !place.is_empty());
        let socket = place.and_then(|place| Some((UnixDatagram::unbound().ok()?, place)));
        Self { socket }
    }

    pub(crate) fn say(&self, text: &str) {
        if let Some((socket, place)) = &self.socket {
            // Nobody may be there just now; what matters is said again.
            let _ = socket.send_to(text.as_bytes(), place);
        }
    }
}
