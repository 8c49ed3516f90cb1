//! Sends the shim's sd_notify messages to the supervisor.

use std::cell::Cell;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// How often the shim checks for a new listener.
const LOOK: Duration = Duration::from_secs(5);

/// The inode number of the socket's file, and its change time.
type Listener = (u64, i64, i64);

pub(crate) struct ShimNotify {
    socket: Option<(UnixDatagram, String)>,
    /// The listener that received the last READY.
    received_by: Cell<Option<Listener>>,
}

impl ShimNotify {
    pub(crate) fn open(get: impl Fn(&str) -> Option<String>) -> Self {
        let place = get("NOTIFY_SOCKET").filter(|place| !place.is_empty());
        let socket = place.and_then(|place| Some((UnixDatagram::unbound().ok()?, place)));
        if let Some((socket, _)) = &socket {
            // A listener that does not read must not block the container.
            let _ = socket.set_nonblocking(true);
        }
        Self { socket, received_by: Cell::new(None) }
    }

    pub(crate) fn say(&self, text: &str) {
        self.is_said(text);
    }

    /// Sends READY and records the receiver: a supervisor that died together with its guardian has lost the message.
    pub(crate) fn report_ready(&self, id: &str) {
        let listener = self.listener();
        let is_said = self.is_said(&format!("READY=1\nSTATUS=container {id}"));
        self.received_by.set(listener.filter(|_| is_said));
    }

    /// Waits until a listener exists that has not received READY.
    pub(crate) async fn until_another_listens(&self) {
        loop {
            tokio::time::sleep(LOOK).await;
            let listener = self.listener();
            if listener.is_some() && listener != self.received_by.get() {
                return;
            }
        }
    }

    fn is_said(&self, text: &str) -> bool {
        let said =
            self.socket.as_ref().map(|(socket, place)| socket.send_to(text.as_bytes(), place));
        said.is_some_and(|said| said.is_ok())
    }

    /// Each listener has its own socket file. An inode number may be reused, but not with the same change time.
    fn listener(&self) -> Option<Listener> {
        let (_, place) = self.socket.as_ref()?;
        let file = std::fs::metadata(place).ok()?;
        Some((file.ino(), file.ctime(), file.ctime_nsec()))
    }
}
