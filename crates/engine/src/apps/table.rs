//! The live runs that report to the supervisor.

use super::{AppReport, Proof};
use ostler_model::RunId;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};

/// Why a caller is not accepted as an app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No such app is running.
    NotRunning,
    /// The app is running, but the caller is neither one of its processes nor has its secret.
    Stranger,
}

pub struct Apps {
    proof: Proof,
    socket: RwLock<PathBuf>,
    live: RwLock<HashMap<RunId, Arc<AppReport>>>,
}

impl Apps {
    pub(crate) fn new(proof: Proof, socket: PathBuf) -> Self {
        Self { proof, socket: RwLock::new(socket), live: RwLock::default() }
    }

    pub fn proof(&self) -> &Proof {
        &self.proof
    }

    /// The path of the app socket.
    pub fn socket(&self) -> PathBuf {
        self.socket.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Sets the socket path for apps that start from now on.
    pub(crate) fn move_socket(&self, to: PathBuf) {
        *self.socket.write().unwrap_or_else(std::sync::PoisonError::into_inner) = to;
    }

    pub(crate) fn add(&self, report: Arc<AppReport>) {
        self.write(|live| live.insert(report.run, report));
    }

    pub(crate) fn forget(&self, run: RunId) {
        self.write(|live| live.remove(&run));
    }

    fn write<T>(&self, change: impl FnOnce(&mut HashMap<RunId, Arc<AppReport>>) -> T) -> T {
        change(&mut self.live.write().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    pub fn get(&self, run: RunId) -> Option<Arc<AppReport>> {
        self.read(|live| live.get(&run).cloned())
    }

    /// The live app with this token.
    pub fn by_token(&self, token: &str) -> Option<Arc<AppReport>> {
        self.get(self.proof.run_of(token)?)
    }

    /// Two units may run the same app.
    pub(crate) fn of_app(&self, id: &str) -> Vec<Arc<AppReport>> {
        let is_it = |report: &&Arc<AppReport>| report.app.as_deref() == Some(id);
        self.read(|live| live.values().filter(is_it).cloned().collect())
    }

    fn read<T>(&self, look: impl FnOnce(&HashMap<RunId, Arc<AppReport>>) -> T) -> T {
        look(&self.live.read().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}
