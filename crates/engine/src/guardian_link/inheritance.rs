//! The file descriptors that an earlier supervisor left with the guardian or systemd.

use ostler_core::Gone;
use ostler_model::RunId;
use ostler_os::{Note, SplicePipe};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// The kind of a run's file descriptor. Its letter ends the descriptor's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DescriptorKind {
    Input,
    Stdout,
    Stderr,
    Terminal,
    Process,
    /// The socket on which the run reports that it is ready.
    NotifySocket,
    /// The spec of a run that waits for a place in its pool.
    Spec,
    /// The note of its reaper.
    ReaperNote,
}

impl DescriptorKind {
    fn letter(self) -> char {
        match self {
            DescriptorKind::Input => 'i',
            DescriptorKind::Stdout => 'o',
            DescriptorKind::Stderr => 'e',
            DescriptorKind::Terminal => 't',
            DescriptorKind::Process => 'p',
            DescriptorKind::NotifySocket => 'w',
            DescriptorKind::Spec => 's',
            DescriptorKind::ReaperNote => 'n',
        }
    }

    pub(crate) fn name(self, run: RunId) -> String {
        format!("{}{}", run.short(), self.letter())
    }
}

pub(crate) const LOCK: &str = "lock";
pub(crate) const CONTROL_SOCKET: &str = "control-socket";
pub(crate) const APP_SOCKET: &str = "app-socket";
/// The socket files of these two, by which the next supervisor checks that the sockets were not replaced.
pub(crate) const CONTROL_SOCKET_FILE: &str = "control-socket-file";
pub(crate) const APP_SOCKET_FILE: &str = "app-socket-file";
pub(crate) const REAPED: &str = "reaped";
pub(crate) const SPLICE: [&str; 3] = ["splice-out", "splice-in", "splice-note"];

/// All inherited descriptors by their names.
#[derive(Default)]
pub struct Inheritance {
    descriptors: HashMap<String, OwnedFd>,
    /// An earlier supervisor existed, and the holder of these descriptors saw it.
    is_of_another: bool,
}

impl Inheritance {
    pub fn new(descriptors: Vec<(String, OwnedFd)>) -> Self {
        let descriptors: HashMap<_, _> = descriptors.into_iter().collect();
        Self { is_of_another: descriptors.contains_key(CONTROL_SOCKET), descriptors }
    }

    pub(crate) fn take(&mut self, name: &str) -> Option<OwnedFd> {
        self.descriptors.remove(name)
    }

    pub(crate) fn take_of_run(&mut self, run: RunId, kind: DescriptorKind) -> Option<OwnedFd> {
        self.take(&kind.name(run))
    }

    pub(crate) fn has_output(&self, run: RunId) -> bool {
        [DescriptorKind::Stdout, DescriptorKind::Stderr, DescriptorKind::Terminal]
            .iter()
            .any(|kind| self.descriptors.contains_key(&kind.name(run)))
    }

    /// Why a run whose process was never recorded is not alive. Its pipes are stored before its program starts, its process
    /// right after.
    pub(crate) fn why_gone(&self, run: RunId) -> Gone {
        if self.process(run).is_some() {
            Gone::BeforeItsProcess
        } else if self.has_output(run) || !self.is_of_another {
            Gone::PerhapsStarted
        } else {
            Gone::NeverStarted
        }
    }

    pub(crate) fn process(&self, run: RunId) -> Option<&OwnedFd> {
        self.descriptors.get(&DescriptorKind::Process.name(run))
    }

    /// The note of the run's reaper.
    pub(crate) fn note(&self, run: RunId) -> Option<Arc<OwnedFd>> {
        let note = self.descriptors.get(&DescriptorKind::ReaperNote.name(run))?;
        note.try_clone().ok().map(Arc::new)
    }

    /// The splice pipe with the bytes that were in it when the supervisor died, and the note that names their run.
    pub(crate) fn take_splice(&mut self) -> Option<(SplicePipe, Note)> {
        let [out, inlet, note] = SPLICE.map(|name| self.take(name));
        Some((SplicePipe::held(out?, inlet?).ok()?, Note::held(note?)))
    }

    /// The names that were not taken: their runs are over.
    pub(crate) fn rest(self) -> Vec<String> {
        self.descriptors.into_keys().collect()
    }
}
