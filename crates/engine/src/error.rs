use ostler_registry::RegistryError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a supervisor could not start or continue.
#[derive(Debug, Error)]
pub enum EngineError {
    #[error("another supervisor owns {home}")]
    Owned { home: PathBuf },
    #[error("the home {home} was removed or replaced while its supervisor was down")]
    Removed { home: PathBuf },
    #[error(transparent)]
    Home(#[from] crate::home::HomeError),
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error("cannot {what}")]
    Os { what: &'static str, source: io::Error },
}

impl EngineError {
    pub(crate) fn at(self, place: &std::path::Path) -> Self {
        match self {
            Self::Registry(error) => Self::Registry(error.at(place)),
            other => other,
        }
    }

    pub(crate) fn os(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Os { what, source }
    }
}
