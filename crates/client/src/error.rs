use ostler_model::wire::WireError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum ClientError {
    #[error("no supervisor is running for {home}")]
    NotRunning { home: PathBuf },
    #[error("the daemon of {home} was stopped meanwhile, and what it looked after was ended")]
    Stopped { home: PathBuf },
    #[error(
        "the daemon of {home} is gone, and nobody starts it again; what it looked after may still run: `ostler runs` takes it up and shows it"
    )]
    Gone { home: PathBuf },
    #[error("the supervisor could not be started: {report}")]
    StartFailed { report: String },
    #[error(
        "the supervisor of {home} did not answer within {seconds} s; `ostler status` says whether it is being started again, crash.log there says why"
    )]
    NoAnswer { home: PathBuf, seconds: u64 },
    #[error(
        "the connection to the supervisor was lost; what it looks after may still run (`ostler runs`)"
    )]
    Lost(#[source] io::Error),
    #[error(
        "{deaths} supervisors of {home} ended while they were answering this request, so it is not sent again; `crash.log` there says why they ended, `ostler status` what runs now"
    )]
    Deadly { home: PathBuf, deaths: u32 },
    #[error("the supervisor answered something else than was asked; is it another version?")]
    Unexpected,
    #[error("{}", .0.message)]
    Refused(WireError),
}
