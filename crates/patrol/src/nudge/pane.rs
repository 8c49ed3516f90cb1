//! A unit's pane in tmux.

use super::modes::Modes;
use super::terminal::{Key, Paste, Terminal, Trouble};
use ostler_model::ScreenText;
use ostler_tmux::typing::{self, PaneLook};
use ostler_tmux::{Pane, Server, TmuxError};
use std::path::PathBuf;

pub struct TmuxTerminal {
    server: Server,
    pane: String,
    pid: i32,
    device: Option<PathBuf>,
    takes_paste: Option<bool>,
    /// Where the run's output is, if it is a run of ours.
    modes: Option<Modes>,
}

impl TmuxTerminal {
    pub fn new(server: Server, pane: &Pane, modes: Option<Modes>) -> Self {
        Self {
            server,
            pane: pane.pane_id.clone(),
            pid: pane.pid,
            device: None,
            takes_paste: None,
            modes,
        }
    }

    fn seen(&mut self) -> Result<PaneLook, Trouble> {
        let gone = || Trouble::Gone("its session is no more".to_owned());
        let look = typing::look(&self.server, &self.pane).map_err(unknown)?.ok_or_else(gone)?;
        if look.pid != self.pid {
            return Err(gone());
        }
        if look.is_dead {
            return Err(Trouble::Gone("the program in its session has ended".to_owned()));
        }
        if look.is_closed {
            return Err(Trouble::Gone(
                "its pane takes no input: `tmux select-pane -e` lets it".to_owned(),
            ));
        }
        Ok(look)
    }

    /// tmux has many words for a pane that is no more. Whether it is one, a look says.
    fn looked_after(&mut self, done: Result<(), TmuxError>) -> Result<(), Trouble> {
        let Err(error) = done else { return Ok(()) };
        if let TmuxError::Refused { .. } = error {
            self.seen()?;
        }
        Err(unknown(error))
    }
}

impl Terminal for TmuxTerminal {
    fn look(&mut self) -> Result<ScreenText, Trouble> {
        let look = self.seen()?;
        self.device = Some(PathBuf::from(&look.terminal));
        self.takes_paste = look.takes_paste;
        Ok(look.screen)
    }

    /// tmux knows, and older ones do not tell: then the last that the program said of it is in its output.
    fn paste_mode(&mut self) -> Result<Paste, Trouble> {
        let description =
            self.takes_paste.or_else(|| self.modes.as_ref().and_then(Modes::takes_paste));
        Ok(if description == Some(true) { Paste::Bracketed } else { Paste::Plain })
    }

    fn type_in(&mut self, text: &str, _: Paste) -> Result<(), Trouble> {
        let typed = typing::paste(&self.server, &self.pane, text);
        self.looked_after(typed)
    }

    fn press(&mut self, key: Key) -> Result<(), Trouble> {
        let pressed = typing::press(&self.server, &self.pane, key);
        self.looked_after(pressed)
    }

    fn device(&self) -> Option<PathBuf> {
        self.device.clone()
    }
}

fn unknown(error: TmuxError) -> Trouble {
    match error {
        TmuxError::NoServer { .. } => Trouble::Gone("its tmux server is no more".to_owned()),
        TmuxError::Silent { .. }
        | TmuxError::Foreign { .. }
        | TmuxError::Refused { .. }
        | TmuxError::NotRun { .. }
        | TmuxError::Garbled { .. } => Trouble::Unknown(error.to_string()),
    }
}
