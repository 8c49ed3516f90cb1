//! The patrol's configuration: its root, and which agents it watches and how.

use crate::error::PatrolError;
use crate::files::{self, PatrolFiles};
use ostler_model::{Backend, PatrolSpec, TmuxSpec, UnitSpec, WatchSpec};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The current configuration.
#[derive(Clone, Debug)]
pub struct Plan {
    pub spec: PatrolSpec,
    pub town: PatrolFiles,
    /// The tmux session of each agent that runs in tmux.
    pub tmux_sessions: BTreeMap<String, TmuxSpec>,
    /// The home's instance id, by which Ostler recognises its own sessions.
    pub instance: String,
    pub home: PathBuf,
}

/// The saved copy, used when the configuration file cannot be read.
#[derive(Serialize, Deserialize)]
struct Kept {
    spec: PatrolSpec,
    /// The name in files of earlier versions.
    #[serde(rename = "seats")]
    tmux_sessions: BTreeMap<String, TmuxSpec>,
}

const KEPT_MOST: u64 = 16 << 20;

fn kept_in(home: &Path) -> PathBuf {
    home.join("patrol.json")
}

impl Plan {
    /// Writes the copy if it changed. A full disk must not stop the patrol.
    pub fn keep(&self) {
        let kept = Kept { spec: self.spec.clone(), tmux_sessions: self.tmux_sessions.clone() };
        let text = serde_json::to_vec(&kept).unwrap_or_default();
        let path = kept_in(&self.home);
        if files::read(&path, KEPT_MOST).is_ok_and(|before| before == text) {
            return;
        }
        let _ = files::write(&path, &text);
    }

    /// The configuration as it was when the file could last be read.
    pub fn kept(home: &Path, instance: String) -> Option<Self> {
        let text = files::read(&kept_in(home), KEPT_MOST).ok()?;
        let Kept { spec, tmux_sessions } = serde_json::from_slice(&text).ok()?;
        Some(Self {
            town: PatrolFiles::at(&spec.root),
            spec,
            tmux_sessions,
            instance,
            home: home.to_owned(),
        })
    }

    pub fn new(spec: PatrolSpec, units: &[UnitSpec], instance: String, home: PathBuf) -> Self {
        let tmux_of = |unit: &UnitSpec| {
            // Without tmux, the agent runs on a pty of the supervisor.
            let tmux = unit.tmux.as_deref().filter(|_| unit.backend == Backend::Tmux)?.clone();
            spec.agents
                .iter()
                .any(|agent| agent.name == unit.name)
                .then(|| (unit.name.clone(), tmux))
        };
        let tmux_sessions = units.iter().filter_map(tmux_of).collect();
        Self { town: PatrolFiles::at(&spec.root), spec, tmux_sessions, instance, home }
    }

    /// Finds an agent by its name, its session, or its place in a project (`PROJECT/ROLE`).
    pub fn find(&self, name: &str) -> Option<&WatchSpec> {
        let name = name.trim_end_matches('/');
        let is_called = |agent: &&WatchSpec| agent.name == name;
        let is_it = |agent: &&WatchSpec| {
            let in_rig = agent.rig.as_ref().map(|rig| format!("{rig}/{}", agent.role));
            agent.session == name || in_rig.as_deref() == Some(name)
        };
        // A name comes first: a session may have the name of another agent.
        let agents = &self.spec.agents;
        agents.iter().find(is_called).or_else(|| agents.iter().find(is_it))
    }

    pub fn agent(&self, name: &str) -> Result<&WatchSpec, PatrolError> {
        self.find(name).ok_or_else(|| {
            let known: Vec<&str> =
                self.spec.agents.iter().map(|agent| agent.name.as_str()).collect();
            PatrolError::NoSuchAgent { name: name.to_owned(), known: known.join(", ") }
        })
    }
}
