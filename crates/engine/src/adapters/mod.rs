//! The ways a run is connected. They differ in its stdio only; everything else is the same.

mod pipe;
mod pty;

use crate::inheritance::End;
use crate::input::Input;
use ostler_model::{Backend, RunSpec};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// A run's stdio: its ends, which close once it is started, and ours.
pub(crate) struct Connection {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    pub(crate) input: Input,
    /// Ours, which must outlive us.
    pub(crate) ends: Vec<(End, Arc<OwnedFd>)>,
}

pub(crate) fn connect(spec: &RunSpec) -> io::Result<Connection> {
    let connection = match spec.backend {
        Backend::Pipe | Backend::Container | Backend::Tmux => pipe::connect(spec),
        Backend::Pty => pty::connect(spec),
    }?;
    if [&connection.stdin, &connection.stdout, &connection.stderr]
        .into_iter()
        .any(ostler_os::is_last_reserve)
    {
        return Err(ostler_os::out_of_descriptors());
    }
    Ok(connection)
}
