//! Getting hold of the address, and telling others of this home which one it is.

use serde::{Deserialize, Serialize};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::sleep;

/// What `http.json` says. It is true only while the process it names lives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listening {
    pub pid: u32,
    /// Where it listens, or listened last.
    pub address: Option<SocketAddr>,
    /// Why it does not listen yet; it goes on trying.
    pub error: Option<String>,
}

/// What this home's supervisor last said about it.
pub fn listening(home: &Path) -> Option<Listening> {
    serde_json::from_str(&std::fs::read_to_string(file(home)).ok()?).ok()
}

fn file(home: &Path) -> PathBuf {
    home.join("http.json")
}

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A port of any number may become another one only after so many tries: the one before us may be about to leave it.
const TRIES_FOR_SAME: u32 = 6;

/// Tries until it works: the one before us may still be there, and so may a stranger.
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

/// For `ostler status`, and to come back at the same port. Without it both are lost, and nothing else.
fn notify(home: &Path, address: Option<SocketAddr>, error: Option<String>) {
    let description = Listening { pid: std::process::id(), address, error };
    let _ = ostler_sys::write_atomic(
        &file(home),
        format!("{}\n", serde_json::json!(description)).as_bytes(),
        0o600,
        ostler_sys::Durability::Synced,
    );
}

/// It no longer listens. Where it did is kept, to come back there.
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
