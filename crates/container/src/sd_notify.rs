//! What the shim says to whoever started it, in the words of sd_notify.

use std::cell::Cell;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// How often it is looked whether another listens.
const LOOK: Duration = Duration::from_secs(5);

/// The number of its file, and when that was made.
type Listener = (u64, i64, i64);

pub(crate) struct ShimNotify {
    socket: Option<(UnixDatagram, String)>,
    /// Who was told that the container runs.
    received_by: Cell<Option<Listener>>,
}

impl ShimNotify {
    pub(crate) fn open(get: impl Fn(&str) -> Option<String>) -> Self {
        let place = get("NOTIFY_SOCKET").filter(|place| !place.is_empty());
        let socket = place.and_then(|place| Some((UnixDatagram::unbound().ok()?, place)));
        if let Some((socket, _)) = &socket {
            // Whoever does not read does not hold the container up.
            let _ = socket.set_nonblocking(true);
        }
        Self { socket, received_by: Cell::new(None) }
    }

    pub(crate) fn say(&self, text: &str) {
        self.is_said(text);
    }

    /// What may not be lost: a supervisor that died with its guardian took with it what they had heard.
    pub(crate) fn report_ready(&self, id: &str) {
        let listener = self.listener();
        let is_said = self.is_said(&format!("READY=1\nSTATUS=container {id}"));
        self.received_by.set(listener.filter(|_| is_said));
    }

    /// Returns when somebody listens who has not been told that the container runs.
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

    /// Each has a file of its own there. A number may be given again, but not at the same time.
    fn listener(&self) -> Option<Listener> {
        let (_, place) = self.socket.as_ref()?;
        let file = std::fs::metadata(place).ok()?;
        Some((file.ino(), file.ctime(), file.ctime_nsec()))
    }
}
