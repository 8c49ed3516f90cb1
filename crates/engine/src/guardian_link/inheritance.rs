//! What a supervisor before us left for us with our guardian, or with systemd.

use ostler_core::Gone;
use ostler_model::RunId;
use ostler_os::{Note, SplicePipe};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What a descriptor of a run is. Its letter ends the descriptor's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Input,
    Stdout,
    Stderr,
    Terminal,
    Process,
    /// Where it says of itself that it is ready.
    Word,
    /// What it is to be started with, of one that waits for a place in its pool.
    Spec,
    /// What its reaper knows of it.
    Note,
}

impl End {
    fn letter(self) -> char {
        match self {
            End::Input => 'i',
            End::Stdout => 'o',
            End::Stderr => 'e',
            End::Terminal => 't',
            End::Process => 'p',
            End::Word => 'w',
            End::Spec => 's',
            End::Note => 'n',
        }
    }

    pub(crate) fn name(self, run: RunId) -> String {
        format!("{}{}", run.short(), self.letter())
    }
}

pub(crate) const LOCK: &str = "lock";
pub(crate) const DOOR: &str = "control-socket";
pub(crate) const APP_DOOR: &str = "app-socket";
/// The files of those two, by which the next supervisor knows that nobody replaced them.
pub(crate) const DOOR_FILE: &str = "control-socket-file";
pub(crate) const APP_DOOR_FILE: &str = "app-socket-file";
pub(crate) const REAPED: &str = "reaped";
pub(crate) const SPLICE: [&str; 3] = ["splice-out", "splice-in", "splice-note"];

/// Everything by its name.
#[derive(Default)]
pub struct Inheritance {
    descriptors: HashMap<String, OwnedFd>,
    /// There was a supervisor before us, and whoever keeps this for us saw it.
    is_of_another: bool,
}

impl Inheritance {
    pub fn new(descriptors: Vec<(String, OwnedFd)>) -> Self {
        let descriptors: HashMap<_, _> = descriptors.into_iter().collect();
        Self { is_of_another: descriptors.contains_key(DOOR), descriptors }
    }

    pub(crate) fn take(&mut self, name: &str) -> Option<OwnedFd> {
        self.descriptors.remove(name)
    }

    pub(crate) fn take_end(&mut self, run: RunId, end: End) -> Option<OwnedFd> {
        self.take(&end.name(run))
    }

    pub(crate) fn has_output(&self, run: RunId) -> bool {
        [End::Stdout, End::Stderr, End::Terminal]
            .iter()
            .any(|end| self.descriptors.contains_key(&end.name(run)))
    }

    /// What became of a run whose process was never recorded. Its ends are handed over before its program begins, and its
    /// process right after.
    pub(crate) fn fate_of(&self, run: RunId) -> Gone {
        if self.process(run).is_some() {
            Gone::BeforeItsProcess
        } else if self.has_output(run) || !self.is_of_another {
            Gone::PerhapsStarted
        } else {
            Gone::NeverStarted
        }
    }

    pub(crate) fn process(&self, run: RunId) -> Option<&OwnedFd> {
        self.descriptors.get(&End::Process.name(run))
    }

    /// What the reaper of a run knows of it.
    pub(crate) fn note(&self, run: RunId) -> Option<Arc<OwnedFd>> {
        let note = self.descriptors.get(&End::Note.name(run))?;
        note.try_clone().ok().map(Arc::new)
    }

    /// The siphon with what was in it when its supervisor died, and the note of whose it is.
    pub(crate) fn take_splice(&mut self) -> Option<(SplicePipe, Note)> {
        let [out, inlet, note] = SPLICE.map(|name| self.take(name));
        Some((SplicePipe::held(out?, inlet?).ok()?, Note::held(note?)))
    }

    /// Names nobody has asked for: of runs that are over.
    pub(crate) fn rest(self) -> Vec<String> {
        self.descriptors.into_keys().collect()
    }
}
