//! The tmux session of a run with the tmux backend. `ostler attach` uses tmux itself to connect to it.

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::errln;
use ostler_model::{Backend, PaneRecord, RunSpec, RunState};
use ostler_ops::runs::Show;
use std::path::Path;

pub struct Session {
    name: String,
    pane: PaneRecord,
}

impl Session {
    /// `None` if the run has another backend.
    pub fn of(context: &Context, run: &str) -> Result<Option<Self>, Failure> {
        let mut client = context.connect()?;
        let record = client.call(&Show::of(run))?;
        let (Backend::Tmux, Some(unit)) = (record.backend_id, &record.unit) else {
            return Ok(None);
        };
        if record.state == RunState::Exited {
            return Err(Failure::failed(anyhow::anyhow!(
                "{unit} is not running and has no tmux session; see its output with `ostler logs {unit}`"
            )));
        }
        let pane = ostler_tmux::pane_of(context.home.path(), unit);
        let pane = pane.filter(|pane| pane.run == record.run_id.to_string());
        match pane {
            Some(pane) => Ok(Some(Self { name: unit.clone(), pane })),
            None => Err(Failure::failed(anyhow::anyhow!(
                "{unit} has no tmux session yet; see what it waits for with `ostler status {unit}`"
            ))),
        }
    }

    /// Attaches this terminal to the session, until the user detaches or the session ends.
    pub fn attach(&self, read_only: bool) -> Result<Exit, Failure> {
        let Self { name, pane } = self;
        if std::env::var(RunSpec::RUN_ID_VARIABLE).is_ok_and(|own| own == pane.run) {
            return Err(Failure::usage(format!(
                "cannot attach: this is already the terminal of {name}"
            )));
        }
        let inside = std::env::var("TMUX").ok().filter(|inside| !inside.is_empty());
        let verb = match inside.as_deref().map(|inside| is_same_server(inside, &pane.socket)) {
            None => "attach-session",
            Some(true) => "switch-client",
            Some(false) => {
                return Err(Failure::usage(format!(
                    "cannot attach: this terminal is inside another tmux server than {name}; detach first, \
                     or unset TMUX to nest them"
                )));
            }
        };
        if !ostler_os::is_terminal(std::io::stdin()) {
            return Err(Failure::usage(format!(
                "cannot attach: standard input is not a terminal; follow the output with `ostler logs -f {name}`"
            )));
        }
        let mut words = vec!["-S", &pane.socket, verb, "-t", &pane.session_id];
        if read_only {
            words.push("-r");
        }
        let code = ostler_os::run_here(Path::new(&pane.program), &words)?;
        match code {
            Some(0) if verb == "attach-session" => {
                errln!("ostler: detached from {name}; see its state with `ostler status {name}`");
                Ok(Exit::DONE)
            }
            Some(0) => Ok(Exit::DONE),
            Some(_) | None => Ok(Exit::FAILED),
        }
    }
}

/// `TMUX` has the form `SOCKET,SERVER_PID,SESSION`.
fn is_same_server(inside: &str, socket: &str) -> bool {
    let own = inside.split(',').next().unwrap_or_default();
    let real = |path: &str| std::fs::canonicalize(path).unwrap_or_else(|_| path.into());
    real(own) == real(socket)
}
