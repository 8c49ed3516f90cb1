//! Merges tables: single keys into a table, and `[defaults]` into a unit.

use crate::agent::has_terminal;
use crate::file::{AgentsTable, HookTable, PoolTable, ReadyTable, SupervisorTable, UnitTable};
use crate::located::Located;
use crate::patrol::{PatrolKeys, WatchKeys};
use crate::scalars::BackendWord;

/// A table that can be read key by key.
pub(crate) trait KeyedTable: Default + serde::de::DeserializeOwned {
    const KEYS: &[&str];

    /// Fills each missing key from `other`.
    fn over(self, other: &Self) -> Self;
}

macro_rules! piecewise {
    ($table:ident { $($key:ident),* $(,)? }) => {
        impl KeyedTable for $table {
            const KEYS: &[&str] = &[$(stringify!($key)),*];

            fn over(self, _other: &Self) -> Self {
                Self { $($key: self.$key.or_else(|| _other.$key.clone())),* }
            }
        }
    };
}

piecewise!(SupervisorTable { http, lease, adopt, output });
piecewise!(AgentsTable { file, repos });
piecewise!(PoolTable { max, min_free_memory, max_pressure });
piecewise!(PatrolKeys { root, tick, tmux, rigs, overseer, on_escalation, triage, ladder });
piecewise!(WatchKeys { heartbeat, stale, very_stale, work, process, role, rig });
piecewise!(HookTable { on_crash, on_breaker, on_recovery, on_waiting, on_limited, deadman });
piecewise!(UnitTable {
    command,
    manifest,
    config,
    cwd,
    env,
    env_file,
    inherit_env,
    pool,
    idle,
    resume,
    agent,
    backend,
    session,
    tmux,
    preset,
    restart,
    stop,
    ready,
    health,
    heartbeat,
    limits,
    image,
    container_name,
    volumes,
    ports,
    network,
    liveness_backoff,
    depends_on,
    profiles,
    timeout,
    no_output_timeout,
    schedule,
});

impl UnitTable {
    /// Merges env; any other key of the unit replaces the default.
    pub(crate) fn with_defaults(mut self, defaults: &UnitTable) -> UnitTable {
        if let (Some(own), Some(other)) = (&self.env, &defaults.env) {
            let mut both = other.clone();
            both.extend(own.clone());
            self.env = Some(both);
        }
        let mut shared = defaults.clone();
        shared.manifest = None;
        shared.session = None;
        let backend = self.backend.or(defaults.backend);
        if !matches!(backend, Some(BackendWord::Pty | BackendWord::Tmux)) {
            shared.idle = None;
        }
        let is_app = self.manifest.is_some();
        shared.ready = shared.ready.and_then(|ready| ready_for(&ready, is_app));
        if is_app {
            shared.command = None;
        } else {
            shared.config = None;
        }
        let agent = shared.agent.take();
        let mut both = self.over(&shared);
        // Only a unit with a terminal takes the default agent.
        both.agent = both.agent.take().or_else(|| agent.filter(|_| has_terminal(&both)));
        both
    }
}

/// The readiness default for a unit. An app takes only the timeouts, because it reports its own readiness. A unit that
/// is no app takes no `register`.
fn ready_for(all: &Located<ReadyTable>, is_app: bool) -> Option<Located<ReadyTable>> {
    let table = (**all).clone();
    let only_for_apps = table.register.is_some() && !table.names_a_check();
    match (is_app, only_for_apps) {
        (true, _) => {
            let ReadyTable { timeout, register, .. } = table;
            Some(Located::new(
                all.span(),
                ReadyTable { timeout, register, ..ReadyTable::default() },
            ))
        }
        (false, true) => None,
        (false, false) => Some(Located::new(all.span(), ReadyTable { register: None, ..table })),
    }
}
