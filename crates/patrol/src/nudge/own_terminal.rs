//! The terminal of a run with the pty backend.

use super::terminal::{Key, Paste, Terminal, Trouble};
use crate::connection::{Connection, Connector};
use crate::error::PatrolError;
use ostler_client::ClientError;
use ostler_model::ScreenText;
use ostler_ops::runs::Screen;
use ostler_ops::wire::ErrorCode;
use std::path::PathBuf;
use std::time::Duration;

/// A program that does not read its input blocks the writer.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct OwnTerminal {
    connector: Connector,
    connection: Connection,
    run: String,
    device: Option<PathBuf>,
    paste: Paste,
}

impl OwnTerminal {
    pub fn new(
        connector: Connector,
        connection: Connection,
        run: String,
        pid: Option<i32>,
    ) -> Self {
        let device = pid.and_then(ostler_os::terminal_of);
        Self { connector, connection, run, device, paste: Paste::Plain }
    }

    fn give(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        let mut client = self.connector.client().map_err(trouble)?;
        client.be_patient(Some(PATIENCE)).map_err(|error| trouble(error.into()))?;
        client.give(&self.run, bytes, false).map_err(|error| trouble(error.into())).map(|_| ())
    }
}

impl Terminal for OwnTerminal {
    fn look(&mut self) -> Result<ScreenText, Trouble> {
        let screen = self.connection.call(&Screen::of(&self.run)).map_err(trouble)?;
        self.paste = if screen.takes_paste { Paste::Bracketed } else { Paste::Plain };
        Ok(screen)
    }

    fn paste_mode(&mut self) -> Result<Paste, Trouble> {
        Ok(self.paste)
    }

    fn type_in(&mut self, text: &str, paste: Paste) -> Result<(), Trouble> {
        match paste {
            Paste::Bracketed => self.give(format!("\x1b[200~{text}\x1b[201~").as_bytes()),
            Paste::Plain => self.give(text.as_bytes()),
        }
    }

    fn press(&mut self, key: Key) -> Result<(), Trouble> {
        self.give(&key.bytes())
    }

    fn device(&self) -> Option<PathBuf> {
        self.device.clone()
    }
}

fn trouble(error: PatrolError) -> Trouble {
    match &error {
        PatrolError::Client(inner) => match &**inner {
            ClientError::Refused(refusal)
                if matches!(refusal.code, ErrorCode::Conflict | ErrorCode::NotFound) =>
            {
                Trouble::Gone(refusal.message.clone())
            }
            other => Trouble::Unknown(other.to_string()),
        },
        _ => Trouble::Unknown(error.to_string()),
    }
}
