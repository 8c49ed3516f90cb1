use crate::RegistryError;
use crate::journal::ReadJournal;
use crate::mail::ReadMail;
use crate::nudges::ReadNudges;
use crate::patrol::ReadPatrol;
use ostler_model::{InstanceId, RunId, RunRecord, Sample};
use std::fmt::Debug;

/// Which ended runs to read.
#[derive(Clone, Copy, Debug)]
pub struct RunQuery {
    pub newest: Option<u64>,
}

/// The minimum number of digits of a run id. Shorter parts match by chance, and a mistyped unit name would reach
/// another run.
pub const ID_PART_LEAST: usize = 4;

/// Answers queries. It changes nothing and never blocks the writer.
pub trait Reader: Debug + Send + ReadJournal + ReadMail + ReadNudges + ReadPatrol {
    /// Ended runs, newest first.
    fn ended(&self, query: RunQuery) -> Result<Vec<RunRecord>, RegistryError>;

    /// All live runs, of any owner.
    fn live(&self) -> Result<Vec<RunRecord>, RegistryError>;

    /// Ended runs of this boot with surviving processes.
    fn unkillable(&self, boot_id: &str) -> Result<Vec<RunRecord>, RegistryError>;

    fn run(&self, id: RunId) -> Result<Option<RunRecord>, RegistryError>;

    /// The runs whose id begins or ends with this part, at most two: enough to tell one from several. A part shorter
    /// than `ID_PART_LEAST` matches none.
    fn matching(&self, part: &str) -> Result<Vec<RunRecord>, RegistryError>;

    /// A unit's runs, newest first.
    fn runs_of(&self, unit: &str, most: u64) -> Result<Vec<RunRecord>, RegistryError>;

    fn has_unit(&self, instance: InstanceId, name: &str) -> Result<bool, RegistryError>;

    /// All counters, including those at 0.
    fn counters(&self) -> Result<Vec<Sample>, RegistryError>;
}
