//! A plain unit, for tests that change only what they are about.

use ostler_model::{Backend, HookSpec, Limits, Resources, RestartPolicy, StopSpec, UnitSpec};
use std::collections::BTreeMap;

/// A unit of one command with the default restart policy.
pub fn unit_spec(name: &str) -> UnitSpec {
    UnitSpec {
        name: name.to_owned(),
        argv: vec!["sleep".to_owned()],
        cwd: "/".to_owned(),
        env: BTreeMap::new(),
        inherited: [].into(),
        umask: 0o22,
        backend: Backend::Pipe,
        restart: RestartPolicy::default(),
        stop: StopSpec { signal: 15, grace_ms: 500 },
        ready: None,
        health: None,
        liveness_backoff: None,
        depends_on: Vec::new(),
        schedule: None,
        limits: Limits::default(),
        resources: Resources::default(),
        app: None,
        container: None,
        tmux: None,
        pool: None,
        idle: None,
        resume: None,
        heartbeat: None,
        agent: None,
        hooks: HookSpec::default(),
        part: None,
        file: None,
    }
}
