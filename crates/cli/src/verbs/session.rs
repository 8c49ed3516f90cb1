//! The session of a run that lives in tmux: a person goes there with tmux itself.

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::errln;
use ostler_model::{Backend, PaneRecord, RunSpec, RunState};
use ostler_ops::runs::Show;
use std::path::Path;

pub struct Session {
    name: String,
    pane_slot: PaneRecord,
}

impl Session {
    /// `None` if the run has another way of being connected.
    pub fn of(context: &Context, run: &str) -> Result<Option<Self>, Failure> {
        let mut client = context.connect()?;
        let record = client.call(&Show::of(run))?;
        let (Backend::Tmux, Some(unit)) = (record.backend_id, &record.unit) else {
            return Ok(None);
        };
        if record.state == RunState::Exited {
            return Err(Failure::failed(anyhow::anyhow!(
                "{unit} does not run, and has no session: `ostler logs {unit}` shows what it wrote"
            )));
        }
        let pane_slot = ostler_tmux::pane_of(context.home.path(), unit);
        let pane_slot = pane_slot.filter(|pane_slot| pane_slot.run == record.run_id.to_string());
        match pane_slot {
            Some(pane_slot) => Ok(Some(Self { name: unit.clone(), pane_slot })),
            None => Err(Failure::failed(anyhow::anyhow!(
                "{unit} has no session yet; `ostler status {unit}` tells what it waits for"
            ))),
        }
    }

    /// On our own terminal, until the person detaches or it ends.
    pub fn attach(&self, read_only: bool) -> Result<Exit, Failure> {
        let Self { name, pane_slot } = self;
        if std::env::var(RunSpec::RUN_ID_VARIABLE).is_ok_and(|own| own == pane_slot.run) {
            return Err(Failure::usage(format!("this is {name}'s own terminal")));
        }
        let inside = std::env::var("TMUX").ok().filter(|inside| !inside.is_empty());
        let verb = match inside.as_deref().map(|inside| is_same_server(inside, &pane_slot.socket)) {
            None => "attach-session",
            Some(true) => "switch-client",
            Some(false) => {
                return Err(Failure::usage(format!(
                    "this terminal is inside another tmux, and {name} is in its own: detach first, \
                     or unset TMUX to have one inside the other"
                )));
            }
        };
        if !ostler_os::is_terminal(std::io::stdin()) {
            return Err(Failure::usage(format!(
                "a session of tmux needs a terminal; `ostler logs -f {name}` follows its output"
            )));
        }
        let mut words = vec!["-S", &pane_slot.socket, verb, "-t", &pane_slot.session_id];
        if read_only {
            words.push("-r");
        }
        let code = ostler_os::run_here(Path::new(&pane_slot.program), &words)?;
        match code {
            Some(0) if verb == "attach-session" => {
                errln!("ostler: left {name}; `ostler status {name}` tells how it is");
                Ok(Exit::DONE)
            }
            Some(0) => Ok(Exit::DONE),
            Some(_) | None => Ok(Exit::FAILED),
        }
    }
}

/// `TMUX` is the socket, the server's pid and the session, with commas between.
fn is_same_server(inside: &str, socket: &str) -> bool {
    let own = inside.split(',').next().unwrap_or_default();
    let real = |path: &str| std::fs::canonicalize(path).unwrap_or_else(|_| path.into());
    real(own) == real(socket)
}
