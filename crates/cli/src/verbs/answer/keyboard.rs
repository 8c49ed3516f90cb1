//! Types keys and text into a run's pseudoterminal or into a tmux pane. Only one process types at a time, as with
//! nudges.

use super::keys::Key;
use crate::context::Context;
use crate::exit::Failure;
use crate::verbs::screen::LiveRun;
use ostler_client::Client;
use ostler_os::HomeLock;
use ostler_tmux::typing::{press_named, type_plain};
use ostler_tmux::{Server, TmuxError};
use std::path::PathBuf;
use std::time::Duration;

/// How long to wait for another process that types.
const TURN_MS: u64 = 10_000;
const TRY_AGAIN: Duration = Duration::from_millis(20);
/// How long to wait for a program that does not read its input.
const PATIENCE: Duration = Duration::from_secs(10);

/// Locks the unit's terminal for typing, so that no nudge is typed in between.
pub fn turn(context: &Context, live: &LiveRun) -> Result<Option<HomeLock>, Failure> {
    let Some(unit) = &live.unit else { return Ok(None) };
    let folder: PathBuf = context.home.path().join("nudges");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{}.lock", unit.name.replace('/', "_")));
    let until_ms = ostler_os::mono_ms() + TURN_MS;
    loop {
        if let Some(lock) = ostler_os::take_lock(&path)? {
            return Ok(Some(lock));
        }
        if ostler_os::mono_ms() >= until_ms {
            let description = format!("another process is typing into {}; try again", unit.name);
            return Err(Failure::failed(anyhow::anyhow!(description)));
        }
        ostler_os::nap(TRY_AGAIN);
    }
}

pub enum Keyboard {
    Own { client: Box<Client>, run: String },
    Pane { server: Server, pane: String },
}

impl Keyboard {
    pub fn of(context: &Context, live: &LiveRun) -> Result<Self, Failure> {
        let run = live.run.to_string();
        let in_tmux = live.unit.as_ref().filter(|view| view.tmux.is_some());
        let pane = in_tmux.and_then(|view| ostler_tmux::pane_of(context.home.path(), &view.name));
        if let Some(pane) = pane.filter(|pane| pane.run == run) {
            let server = Server::at(&pane.socket).with_program(&pane.program);
            return Ok(Self::Pane { server, pane: pane.pane_id });
        }
        let client = context.connect_running()?;
        client.be_patient(Some(PATIENCE))?;
        Ok(Self::Own { client: Box::new(client), run })
    }

    pub fn press(&mut self, key: Key, application_cursor: bool) -> Result<(), Failure> {
        match self {
            Keyboard::Own { client, run } => {
                client.give(run, key.bytes(application_cursor), false)?;
                Ok(())
            }
            Keyboard::Pane { server, pane } => {
                press_named(server, pane, key.name()).map_err(refused)
            }
        }
    }

    pub fn type_in(&mut self, text: &str) -> Result<(), Failure> {
        match self {
            Keyboard::Own { client, run } => {
                client.give(run, text.as_bytes(), false)?;
                Ok(())
            }
            Keyboard::Pane { server, pane } => type_plain(server, pane, text).map_err(refused),
        }
    }
}

fn refused(error: TmuxError) -> Failure {
    Failure::failed(anyhow::anyhow!("the answer could not be typed: {error}"))
}
