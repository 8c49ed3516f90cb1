//! The terminal of a run that we keep ourselves.

use super::terminal::{Key, Paste, Terminal, Trouble};
use crate::door::{Asking, Door};
use crate::error::PatrolError;
use ostler_client::ClientError;
use ostler_model::wire::ScreenText;
use ostler_model::wire::{Answer, Call, ErrorCode, Target};
use std::path::PathBuf;
use std::time::Duration;

/// A program that does not read holds up whoever writes to it.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct OwnTerminal {
    door: Door,
    asking: Asking,
    run: String,
    device: Option<PathBuf>,
    paste: Paste,
}

impl OwnTerminal {
    pub fn new(door: Door, asking: Asking, run: String, pid: Option<i32>) -> Self {
        let device = pid.and_then(ostler_os::terminal_of);
        Self { door, asking, run, device, paste: Paste::Plain }
    }

    fn give(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        let mut client = self.door.client().map_err(trouble)?;
        client.be_patient(Some(PATIENCE)).map_err(|error| trouble(error.into()))?;
        client.give(&self.run, bytes, false).map_err(|error| trouble(error.into())).map(|_| ())
    }
}

impl Terminal for OwnTerminal {
    fn look(&mut self) -> Result<ScreenText, Trouble> {
        let call = Call::Screen(Target { run: self.run.clone() });
        match self.asking.call(call).map_err(trouble)? {
            Answer::Screen(screen) => {
                self.paste = if screen.takes_paste { Paste::Bracketed } else { Paste::Plain };
                Ok(screen)
            }
            _ => Err(trouble(PatrolError::Unexpected)),
        }
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
        PatrolError::Door(inner) => match &**inner {
            ClientError::Refused(refusal)
                if matches!(refusal.code, ErrorCode::Conflict | ErrorCode::NoSuchRun) =>
            {
                Trouble::Gone(refusal.message.clone())
            }
            other => Trouble::Unknown(other.to_string()),
        },
        _ => Trouble::Unknown(error.to_string()),
    }
}
