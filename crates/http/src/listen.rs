//! Binds the address, and publishes it in the home.

use serde::{Deserialize, Serialize};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::sleep;

/// The content of `http.json`. It is valid only while the process `pid` lives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listening {
    pub pid: u32,
    /// The current or the last address.
    pub address: Option<SocketAddr>,
    /// Why the server does not listen yet; it keeps trying.
    pub error: Option<String>,
}

/// The last status that the supervisor of this home wrote.
pub fn listening(home: &Path) -> Option<Listening> {
    serde_json::from_str(&std::fs::read_to_string(file(home)).ok()?).ok()
}

fn file(home: &Path) -> PathBuf {
    home.join("http.json")
}

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Tries of the last port before port 0 selects another one: the previous supervisor may be about to release it.
const TRIES_FOR_SAME: u32 = 6;

/// Retries until it succeeds, because the previous supervisor or another program may use the address.
pub(crate) async fn listen(asked: SocketAddr, home: &Path) -> (TcpListener, SocketAddr) {
    let before = listening(home).and_then(|description| description.address);
    let before = before.filter(|before| before.ip() == asked.ip());
    let (mut pause, mut tries) = (FIRST_PAUSE, 0);
    loop {
        let at = match before {
            Some(before) if asked.port() == 0 && tries < TRIES_FOR_SAME => before,
            Some(_) | None => asked,
        };
        match open(at).await {
            Ok((listener, address)) => {
                notify(home, Some(address), None);
                return (listener, address);
            }
            Err(error) => notify(home, before, Some(format!("{at}: {error}"))),
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
        tries += 1;
    }
}

async fn open(at: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(at).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Writes the status for `ostler status`, and the port for the next start. A failure loses only these.
fn notify(home: &Path, address: Option<SocketAddr>, error: Option<String>) {
    let description = Listening { pid: std::process::id(), address, error };
    let _ = ostler_sys::write_atomic(
        &file(home),
        format!("{}\n", serde_json::json!(description)).as_bytes(),
        0o600,
        ostler_sys::Durability::Synced,
    );
}

/// Marks the server as closed. The address is kept, for the next start.
pub(crate) fn report_closed(home: &Path) {
    if let Some(description) =
        listening(home).filter(|description| description.pid == std::process::id())
    {
        let description = Listening { pid: 0, ..description };
        let _ = ostler_sys::write_atomic(
            &file(home),
            format!("{}\n", serde_json::json!(description)).as_bytes(),
            0o600,
            ostler_sys::Durability::Synced,
        );
    }
}
