//! The single writer: event → `core::step` → commit → action → event.
//!
//! One thread, the dispatcher, owns the state, the registry and every process. A second thread, the output writer,
//! reads the output of all runs. Other threads hold a `Handle` for requests and queries.

mod agents;
mod apps;
mod backends;
mod checks;
mod effects;
mod error;
mod guardian_link;
mod handle;
mod home;
mod output;
mod requests;
mod runs;
mod sockets;
mod store;
mod supervisor;
mod units;

pub use agents::sessions::SessionRefused;
pub use agents::{AgentSubject, Judge, NotOfRun};
pub use apps::dispatch::config_version;
pub use apps::{AppNotice, AppReport, Apps, Proof, Refused};
pub use error::EngineError;
pub use guardian_link::GuardianInfo;
pub use guardian_link::inheritance::Inheritance;
pub use handle::{
    Attached, Cancelled, Canceller, Claim, GuardianStatus, HandOver, Handle, RunHandles,
    SpawnRefused, Stopped,
};
pub use home::{Home, HomeError};
pub use ostler_core::unit::Ask as UnitAsk;
pub use ostler_registry::Check as RegistryCheck;
pub use ostler_screen::panic_is_contained;
pub use output::{LogReader, OutputState, OutputTotal, Piece, default_output_bytes, output_bytes};
pub use runs::input::Input;
pub use runs::pools::PoolRefused;
pub use runs::viewers::{AttachCount, AttachGuard};
pub use sockets::Listening;
pub use store::mail::{MailNews, NotKept};
pub use supervisor::{Outcome, Supervisor};
pub use units::{Declaration, WaitCondition};

/// The runs of this home that are live according to its registry, for a caller that cannot reach the supervisor.
/// Another home may share the registry: its runs are not listed. Changes nothing.
pub fn recorded_live(home: &Home) -> Vec<ostler_model::RunId> {
    let Ok(reader) = home.registry().reader() else { return Vec::new() };
    let live = reader.live().unwrap_or_default().into_iter();
    live.filter(|record| is_of(home, record)).map(|record| record.run_id).collect()
}

/// The results of those of `runs` that have ended. A run that another home has taken over goes on there.
pub fn recorded_ends(home: &Home, runs: &[ostler_model::RunId]) -> Vec<ostler_model::RunResult> {
    let found = runs.iter().filter_map(|run| recorded(home, *run));
    found.filter(|record| is_of(home, record)).map(|record| record.result()).collect()
}

/// One line for each process that this home could not end and that still lives. Changes nothing.
pub fn recorded_left(home: &Home) -> Vec<String> {
    let Ok(reader) = home.registry().reader() else { return Vec::new() };
    let records = reader.unkillable(ostler_os::boot_id()).unwrap_or_default();
    let records = records.iter().filter(|record| is_of(home, record));
    records.flat_map(runs::strays::describe_survivors).collect()
}

fn is_of(home: &Home, record: &ostler_model::RunRecord) -> bool {
    home.known_instance().is_none_or(|own| own == record.owner_instance_id)
}

/// A run's record in this home's registry. Changes nothing.
pub fn recorded(home: &Home, run: ostler_model::RunId) -> Option<ostler_model::RunRecord> {
    home.registry().reader().ok()?.run(run).ok().flatten()
}
