//! Errors of the patrol.

use ostler_client::ClientError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum PatrolError {
    #[error("cannot reach the supervisor")]
    Client(#[source] Box<ClientError>),
    #[error("the supervisor sent an unexpected response")]
    Unexpected,
    #[error("cannot write {}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot remove {}; the order it holds stays in force until you remove the file", path.display())]
    NotRemoved {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "another tick is running (lock {}); try again when it has finished",
        lock.display()
    )]
    Overlapping { lock: PathBuf },
    #[error("no agent named {name:?}; watched agents: {known}")]
    NoSuchAgent { name: String, known: String },
}

impl From<ClientError> for PatrolError {
    fn from(error: ClientError) -> Self {
        PatrolError::Client(Box::new(error))
    }
}
