//! The ways a run is connected. They differ in its stdio only; everything else is the same.

pub(crate) mod container;
pub(crate) mod left_containers;
mod pipe;
mod pty;
pub(crate) mod tmux;

use crate::guardian_link::inheritance::End;
use crate::runs::input::Input;
use ostler_model::{Backend, RunSpec};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// A run's stdio: its ends, which close once it is started, and ours.
pub(crate) struct Connection {
    /// Its standard input, output and error; `None` if it has nobody to talk to.
    pub(crate) theirs: Option<[OwnedFd; 3]>,
    pub(crate) input: Input,
    /// Ours, which must outlive us.
    pub(crate) ends: Vec<(End, Arc<OwnedFd>)>,
}

pub(crate) fn connect(spec: &RunSpec) -> io::Result<Connection> {
    // What a check writes is nobody's: it tells by how it ends.
    if spec.session_id == RunSpec::CHECK_SESSION {
        return Ok(Connection { theirs: None, input: Input::Closed, ends: Vec::new() });
    }
    let connection = match spec.backend {
        Backend::Pipe | Backend::Container | Backend::Tmux => pipe::connect(spec),
        Backend::Pty => pty::connect(spec),
    }?;
    // A unit that is started again finds those that callers do not get.
    let is_taken = |end: &OwnedFd| match spec.unit {
        Some(_) => ostler_os::is_last_reserve(end),
        None => ostler_os::is_kept_from_new_runs(end),
    };
    if connection.theirs.iter().flatten().any(is_taken) {
        return Err(ostler_os::out_of_descriptors());
    }
    Ok(connection)
}
