//! Tables that are put together: of single keys, and of a unit's own and those of all units.

use crate::file::{HookTable, SupervisorTable, UnitTable};

/// A table that can be read key by key.
pub(crate) trait Piecewise: Default + serde::de::DeserializeOwned {
    const KEYS: &[&str];

    /// What it says itself, and the other for the rest.
    fn over(self, other: &Self) -> Self;
}

macro_rules! piecewise {
    ($table:ident { $($key:ident),* $(,)? }) => {
        impl Piecewise for $table {
            const KEYS: &[&str] = &[$(stringify!($key)),*];

            fn over(self, _other: &Self) -> Self {
                Self { $($key: self.$key.or_else(|| _other.$key.clone())),* }
            }
        }
    };
}

piecewise!(SupervisorTable { http, lease, adopt });
piecewise!(HookTable { on_crash, on_breaker, on_recovery, deadman });
piecewise!(UnitTable {
    command,
    manifest,
    config,
    cwd,
    env,
    env_file,
    inherit_env,
    backend,
    preset,
    restart,
    stop,
    ready,
    health,
    heartbeat,
    limits,
    liveness_backoff,
    depends_on,
    timeout,
    no_output_timeout,
    schedule,
});

impl UnitTable {
    /// Variables are put together; of all else the unit's own word counts.
    pub(crate) fn with_defaults(mut self, defaults: &UnitTable) -> UnitTable {
        if let (Some(own), Some(other)) = (&self.env, &defaults.env) {
            let mut both = other.clone();
            both.extend(own.clone());
            self.env = Some(both);
        }
        let mut shared = defaults.clone();
        shared.manifest = None;
        if self.manifest.is_some() {
            // What runs, and when it is ready, an app says itself.
            shared.command = None;
            shared.ready = None;
        } else {
            shared.config = None;
        }
        self.over(&shared)
    }
}
