//! The tmux pane of a unit.

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
        let gone = || Trouble::Gone("its tmux session is gone".to_owned());
        let look = typing::look(&self.server, &self.pane).map_err(unknown)?.ok_or_else(gone)?;
        if look.pid != self.pid {
            return Err(gone());
        }
        if look.is_dead {
            return Err(Trouble::Gone("the program in its tmux session has exited".to_owned()));
        }
        if look.is_closed {
            return Err(Trouble::Gone(
                "its pane takes no input; run `tmux select-pane -e` to enable input".to_owned(),
            ));
        }
        Ok(look)
    }

    /// tmux has many error messages for a pane that is gone. Looking at the pane tells whether it is.
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

    /// tmux knows the mode, but older versions do not report it. Then the mode that the program last set is read from
    /// its output.
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
        TmuxError::NoServer { .. } => Trouble::Gone("its tmux server is gone".to_owned()),
        TmuxError::Silent { .. }
        | TmuxError::Foreign { .. }
        | TmuxError::Refused { .. }
        | TmuxError::NotRun { .. }
        | TmuxError::Garbled { .. } => Trouble::Unknown(error.to_string()),
    }
}
