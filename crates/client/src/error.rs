use ostler_ops::wire::WireError;
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
    #[error(transparent)]
    Untrusted(ostler_os::FolderRefused),
    #[error(
        "the socket {socket} belongs to uid {owner}, you are uid {user}: nothing was sent; find out who put it there, and remove it"
    )]
    ForeignSocket { socket: PathBuf, owner: u32, user: u32 },
    #[error(
        "cannot connect to {}: the kernel refused it (operation not permitted); this process runs in a sandbox that \
         keeps it from sockets: run the command outside of the sandbox, or let the sandbox connect", socket.display()
    )]
    Forbidden { socket: PathBuf },
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
        "the supervisor went away while it gave input to run {run}: {given} bytes were sent to it, and how many of them the run got is not known; `ostler logs {run}` may show it"
    )]
    InputUnknown { run: String, given: u64 },
    #[error(
        "{deaths} supervisors of {home} ended while they were answering this request, so it is not sent again; `crash.log` there says why they ended, `ostler status` what runs now"
    )]
    Deadly { home: PathBuf, deaths: u32 },
    #[error("the supervisor answered something else than was asked; is it another version?")]
    Unexpected,
    #[error("{}", .0.message)]
    Refused(WireError),
}
