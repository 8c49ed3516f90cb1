//! The `restart` setting of a unit; the presets carry the numbers of each source project. The core decides by it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    Always,
    OnFailure,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    Goclaw,
    Openclawos,
    Ploinky,
    Crashloop,
    Gastown,
}

impl Preset {
    pub const ALL: &'static [(&'static str, Preset)] = &[
        ("goclaw", Preset::Goclaw),
        ("openclawos", Preset::Openclawos),
        ("ploinky", Preset::Ploinky),
        ("crashloop", Preset::Crashloop),
        ("gastown", Preset::Gastown),
    ];
}

/// The delay before the next start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Backoff {
    pub initial_ms: u64,
    pub factor: f64,
    pub max_ms: u64,
    /// After a run that lasted longer, the delays start over.
    pub reset_after_ms: u64,
}

/// The most failures within a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestartLimit {
    pub count: u32,
    pub window_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestartPolicy {
    pub when: When,
    pub preset: Option<Preset>,
    #[serde(flatten)]
    pub backoff: Backoff,
    /// The first restart after a run of at least this time is immediate. `None`: every restart waits.
    #[serde(default)]
    pub immediate_after_ms: Option<u64>,
    pub limit: Option<RestartLimit>,
}

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;

impl Default for RestartPolicy {
    fn default() -> Self {
        Self {
            when: When::OnFailure,
            preset: None,
            backoff: Backoff {
                initial_ms: SECOND,
                factor: 2.0,
                max_ms: 30 * SECOND,
                reset_after_ms: MINUTE,
            },
            immediate_after_ms: Some(10 * SECOND),
            limit: Some(RestartLimit { count: 5, window_ms: MINUTE }),
        }
    }
}

impl RestartPolicy {
    /// For a part of Ostler: restarts after every end, without a limit.
    pub fn of_part() -> Self {
        Self { when: When::Always, limit: None, ..Self::default() }
    }

    pub fn preset(preset: Preset) -> Self {
        let of = |when, initial_s, max_s, reset_s, limit: Option<(u32, u64)>| Self {
            when,
            preset: Some(preset),
            backoff: Backoff {
                initial_ms: initial_s * SECOND,
                factor: 2.0,
                max_ms: max_s * SECOND,
                reset_after_ms: reset_s * SECOND,
            },
            immediate_after_ms: None,
            limit: limit
                .map(|(count, window_s)| RestartLimit { count, window_ms: window_s * SECOND }),
        };
        match preset {
            Preset::Goclaw => of(When::OnFailure, 1, 300, 300, None),
            Preset::Openclawos => of(When::OnFailure, 1, 300, 300, Some((5, 300))),
            Preset::Ploinky => of(When::OnFailure, 1, 30, 60, Some((5, 60))),
            Preset::Crashloop => of(When::Always, 10, 300, 600, None),
            Preset::Gastown => of(When::Always, 30, 600, 1_800, Some((5, 900))),
        }
    }
}
