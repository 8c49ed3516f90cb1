//! What can go wrong on patrol.

use ostler_client::ClientError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum PatrolError {
    #[error("the supervisor cannot be asked")]
    Client(#[source] Box<ClientError>),
    #[error("the supervisor answered something else than it was asked")]
    Unexpected,
    #[error("{} cannot be written", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} cannot be removed; as long as it is there, it is an order: remove it by hand", path.display())]
    NotRemoved {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "another tick is under way (its lock is {}); it is done within its own bounds, try again then",
        lock.display()
    )]
    Overlapping { lock: PathBuf },
    #[error("no agent is called {name:?}; watched are: {known}")]
    NoSuchAgent { name: String, known: String },
}

impl From<ClientError> for PatrolError {
    fn from(error: ClientError) -> Self {
        PatrolError::Client(Box::new(error))
    }
}
