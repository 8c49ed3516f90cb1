use crate::{Pruner, Reader, RegistryError, Writer};
use ostler_model::InstanceId;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// The result of a rollback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rollback {
    /// The registry is restored, with the runs that the other program had saved since.
    Yes { runs: u64 },
    /// There is no copy: a supervisor has become ready since.
    NoCopy,
    /// Other supervisors use the registry.
    Shared,
}

/// The result of an integrity check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// Nothing was written yet.
    Absent,
    Sound,
    Bad(String),
}

/// A registry that can be opened. Nothing is opened before one of these calls, and only `writer` creates it.
pub trait Registry: Debug + Send + Sync {
    /// Where it is, for messages.
    fn place(&self) -> &Path;

    /// Creates it, or brings one of an earlier version up to date.
    fn writer(&self) -> Result<Box<dyn Writer>, RegistryError>;

    fn reader(&self) -> Result<Box<dyn Reader>, RegistryError>;

    fn pruner(&self) -> Result<Box<dyn Pruner>, RegistryError>;

    /// Checks it as a writer would on opening, and its contents, without changing it.
    fn check(&self) -> Check;

    /// Replaces a registry that is too new with the copy that [`Writer::keep_copy`] made. The newer one is kept.
    fn roll_back(&self, instance: InstanceId, now_ms: u64) -> Result<Rollback, RegistryError>;

    /// The new program is ready: there is no rollback after this.
    fn drop_copy(&self);

    /// The files it consists of, existing or not. Every process that the records name may be signalled, so no other
    /// user may write them, or put others in their place.
    fn files(&self) -> Vec<PathBuf>;

    /// The folders of these files, and the folder of each link on the way to them.
    fn folders(&self) -> Vec<PathBuf>;
}
