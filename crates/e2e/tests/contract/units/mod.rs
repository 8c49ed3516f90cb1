//! W and X: units: restarts, readiness, health, pools, and the verbs that work on them.

pub(crate) mod checks;
pub(crate) mod crash_while_stopping;
pub(crate) mod daemon_stop;
pub(crate) mod environment;
pub(crate) mod foreground;
pub(crate) mod health;
pub(crate) mod inspect;
pub(crate) mod interrupted_changes;
pub(crate) mod model;
pub(crate) mod order;
pub(crate) mod pools;
pub(crate) mod progress;
pub(crate) mod random_kills;
pub(crate) mod ready;
pub(crate) mod reload;
pub(crate) mod restart;
pub(crate) mod resume;
pub(crate) mod setup;
pub(crate) mod shell;
pub(crate) mod sleep;
pub(crate) mod stop_is_final;
pub(crate) mod subset;
pub(crate) mod supervisor_settings;
pub(crate) mod top;
pub(crate) mod up;
