//! The single writer: event → `core::step` → commit → action → event.
//!
//! One thread, the dispatcher, owns the state, the registry and every process. A second one drains
//! output. Faces hold a `Handle`: they ask, and they read.

mod adapters;
mod agents;
mod apps;
mod asks;
mod commit;
mod containing;
mod crash_log;
mod dispatcher;
mod error;
mod failpoint;
mod guarding;
mod handle;
mod hands;
mod home;
mod hooks;
mod http_check;
mod idleness;
mod inheritance;
mod input;
mod keeper;
mod left_containers;
mod life_log;
mod limit_watch;
mod line_watch;
mod live;
mod mailroom;
mod output;
mod parting;
mod patrol_memory;
mod perform;
mod pools;
mod prober;
mod pruning;
mod pulse;
mod reconcile;
mod seating;
mod sessions;
mod sockets;
mod spawning;
mod strays;
mod talking;
mod ties;
mod timetable;
mod units;

pub use agents::{AgentSubject, Judge, NotOfRun};
pub use apps::{Apps, Proof, Refused, Told, Vitals};
pub use dispatcher::{Outcome, Supervisor};
pub use error::EngineError;
pub use guarding::Guarded;
pub use handle::{
    Attached, Cancelled, Canceller, Claim, HandOver, Handle, Held, Keeping, SpawnRefused, Stopped,
};
pub use hands::{HandOn, Hands};
pub use home::{Home, HomeError};
pub use inheritance::Inheritance;
pub use input::Input;
pub use mailroom::{MailNews, NotKept};
pub use ostler_core::unit::Ask as UnitAsk;
pub use ostler_screen::panic_is_contained;
pub use output::{LogReader, OutputState, OutputTotal, Piece, default_output_bytes, output_bytes};
pub use pools::PoolRefused;
pub use sessions::SessionRefused;
pub use sockets::Listening;
pub use talking::config_version;
pub use units::{Declaration, Until};

/// The runs that a registry says are live, for whoever cannot ask a supervisor. Changes nothing.
pub fn recorded_live(registry: &std::path::Path) -> Vec<ostler_model::RunId> {
    let Ok(reader) = ostler_registry::Reader::open(registry) else { return Vec::new() };
    let live = reader.live().unwrap_or_default();
    live.into_iter().map(|record| record.run_id).collect()
}

/// What a registry says could not be ended, and lives: a line each. Changes nothing.
pub fn recorded_left(registry: &std::path::Path) -> Vec<String> {
    let Ok(reader) = ostler_registry::Reader::open(registry) else { return Vec::new() };
    let records = reader.undead(ostler_os::boot_id()).unwrap_or_default();
    let told = |record: &ostler_model::RunRecord| {
        let alive = record.fingerprint().filter(ostler_os::is_same_process)?;
        Some(format!("{}: {}", record.scope_key.as_deref()?, strays::why_it_lives(alive.pid)))
    };
    records.iter().filter_map(told).collect()
}

/// What a registry knows of a run. Changes nothing.
pub fn recorded(
    registry: &std::path::Path,
    run: ostler_model::RunId,
) -> Option<ostler_model::RunRecord> {
    ostler_registry::Reader::open(registry).ok()?.run(run).ok().flatten()
}

/// Whether a registry file is sound, for `doctor`. Changes nothing.
pub fn check_registry(path: &std::path::Path) -> Result<(), String> {
    ostler_registry::Reader::inspect(path).map_err(|error| error.told())?.check()
}
