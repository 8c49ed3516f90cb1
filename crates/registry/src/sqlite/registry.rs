use super::fallback;
use super::pruner::SqlitePruner;
use super::reader::SqliteReader;
use super::writer::SqliteWriter;
use crate::{Check, Pruner, Reader, Registry, RegistryError, Rollback, Writer};
use ostler_model::InstanceId;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct SqliteRegistry {
    path: PathBuf,
}

impl SqliteRegistry {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// SQLite keeps its files beside the real file, wherever a link to it is.
    fn real(&self) -> PathBuf {
        fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone())
    }
}

impl Registry for SqliteRegistry {
    fn place(&self) -> &Path {
        &self.path
    }

    fn writer(&self) -> Result<Box<dyn Writer>, RegistryError> {
        Ok(Box::new(SqliteWriter::open(&self.path)?))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, RegistryError> {
        Ok(Box::new(SqliteReader::open(&self.path)?))
    }

    fn pruner(&self) -> Result<Box<dyn Pruner>, RegistryError> {
        Ok(Box::new(SqlitePruner::open(&self.path)?))
    }

    fn check(&self) -> Check {
        if !self.path.exists() {
            return Check::Absent;
        }
        let checked = SqliteReader::inspect(&self.path)
            .map_err(|error| error.description())
            .and_then(|reader| reader.quick_check());
        match checked {
            Ok(()) => Check::Sound,
            Err(why) => Check::Bad(why),
        }
    }

    fn roll_back(&self, instance: InstanceId, now_ms: u64) -> Result<Rollback, RegistryError> {
        fallback::roll_back(&self.path, instance, now_ms)
    }

    fn drop_copy(&self) {
        fallback::drop_copy(&self.path);
    }

    fn files(&self) -> Vec<PathBuf> {
        let real = self.real();
        let beside = ["", "-wal", "-shm", "-journal"];
        beside.iter().map(|end| fallback::beside(&real, end)).collect()
    }

    fn folders(&self) -> Vec<PathBuf> {
        let real = self.real();
        let folders = [self.path.parent(), real.parent()];
        folders.into_iter().flatten().map(Path::to_owned).collect()
    }
}
