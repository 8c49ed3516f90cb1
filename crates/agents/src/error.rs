//! Errors in a profile.

use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum ProfileError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{place}: {why}")]
    Wrong { place: String, why: String },
}
