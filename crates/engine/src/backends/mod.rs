//! The backends of runs. What is specific to a backend is in its [`RunBackend`]; all other code for runs is shared.
//!
//! A new backend is one file here, its variant in `model::Backend` with its spec, and its line in [`of`].

pub(crate) mod container;
pub(crate) mod left_containers;
mod pipe;
mod pty;
pub(crate) mod tmux;

use crate::guardian_link::inheritance::DescriptorKind;
use crate::output::Screen;
use crate::runs::input::Input;
use crate::supervisor::Supervisor;
use ostler_core::MemorySeen;
use ostler_model::{Backend, RunId, RunRecord, RunSpec, UnitSpec};
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

/// The stdio of a run: the descriptors that the run gets, which are closed here after its start, and those that the
/// supervisor keeps.
pub(crate) struct Connection {
    /// Its standard input, output and error; `None` if nothing is connected.
    pub(crate) theirs: Option<[OwnedFd; 3]>,
    pub(crate) input: Input,
    /// The descriptors that the supervisor keeps. The guardian holds them too, so that they survive the supervisor.
    pub(crate) descriptors: Vec<(DescriptorKind, Arc<OwnedFd>)>,
}

/// What one backend does differently.
pub(crate) trait RunBackend: Sync {
    /// Opens the standard streams of a run.
    fn connect(&self, spec: &RunSpec) -> io::Result<Connection>;

    /// The streams are a terminal, which becomes the controlling terminal of the first process.
    fn has_terminal(&self) -> bool {
        false
    }

    /// The first process is a shim of Ostler's, which forwards the stop signal to its program. The program must not be
    /// signalled directly as well: a second signal can mean something else to it.
    fn is_shim(&self) -> bool {
        false
    }

    /// The screen that is drawn from the run's output.
    fn screen(&self, _spec: &RunSpec, _pane_note: Option<PathBuf>) -> Option<Screen> {
        None
    }

    /// Turns the spec of a unit's run into that of its shim.
    fn prepare(
        &self,
        _: &Supervisor,
        _unit: &UnitSpec,
        _run: RunId,
        _digest: &str,
        _: &mut RunSpec,
    ) {
    }

    /// The file in which a shim records the process in its pane.
    fn pane_note(&self, _: &Supervisor, _: &RunRecord) -> Option<PathBuf> {
        None
    }

    /// The pid that is shown to users, if it is not the first process.
    fn shown_pid(&self, _: &Supervisor, _: &RunRecord) -> Option<i32> {
        None
    }

    /// Memory kills that the run's own cgroup does not show, because another program reports them.
    fn memory(&self, _: &Supervisor, _: &RunRecord) -> Option<MemorySeen> {
        None
    }

    /// The run has ended: reports why, and removes what is not a process (its container, its tmux session).
    fn run_ended(&self, _: &mut Supervisor, _: &RunRecord) {}
}

pub(crate) fn of(backend: Backend) -> &'static dyn RunBackend {
    match backend {
        Backend::Pipe => &pipe::PipeBackend,
        Backend::Pty => &pty::PtyBackend,
        Backend::Container => &container::ContainerBackend,
        Backend::Tmux => &tmux::TmuxBackend,
    }
}

impl Supervisor {
    pub(crate) fn pane_note(&self, record: &RunRecord) -> Option<PathBuf> {
        of(record.backend_id).pane_note(self, record)
    }
}

pub(crate) fn connect(spec: &RunSpec) -> io::Result<Connection> {
    if spec.purpose.is_transient() {
        return Ok(Connection { theirs: None, input: Input::Closed, descriptors: Vec::new() });
    }
    let connection = of(spec.backend).connect(spec)?;
    // The reserve of descriptors is for units that restart, not for runs of callers.
    let is_taken = |end: &OwnedFd| match spec.unit {
        Some(_) => ostler_os::is_last_reserve(end),
        None => ostler_os::is_kept_from_new_runs(end),
    };
    if connection.theirs.iter().flatten().any(is_taken) {
        return Err(ostler_os::out_of_descriptors());
    }
    Ok(connection)
}
