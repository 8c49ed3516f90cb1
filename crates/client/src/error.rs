use ostler_ops::wire::WireError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum ClientError {
    #[error("no supervisor is running for {home}")]
    NotRunning { home: PathBuf },
    #[error("the daemon of {home} was stopped during this request, and its runs were ended")]
    Stopped { home: PathBuf },
    #[error(
        "the daemon of {home} has ended and nothing restarts it; its runs may still be alive: `ostler runs` starts the daemon again and shows them"
    )]
    Gone { home: PathBuf },
    #[error(transparent)]
    Untrusted(ostler_os::FolderRefused),
    #[error(
        "the socket {socket} belongs to uid {owner}, but you are uid {user}: nothing was sent; find out who created it, and remove it"
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
        "the supervisor of {home} did not answer within {seconds} s; `ostler status` shows whether it is being restarted, crash.log in the home shows why"
    )]
    NoAnswer { home: PathBuf, seconds: u64 },
    #[error("the daemon of {home} does not answer: {why}")]
    Halted { home: PathBuf, why: String },
    #[error(
        "the connection to the supervisor was lost; its runs may still be alive (`ostler runs`)"
    )]
    Lost(#[source] io::Error),
    #[error(
        "the supervisor ended while it wrote input to run {run}: {given} bytes were sent to it, but it is unknown how many the run received; `ostler logs {run}` may show it"
    )]
    InputUnknown { run: String, given: u64 },
    #[error(
        "{deaths} supervisors of {home} ended while they answered this request, so it is not sent again; `crash.log` in the home shows why they ended, `ostler status` shows what runs now"
    )]
    Deadly { home: PathBuf, deaths: u32 },
    #[error(
        "the supervisor sent an unexpected answer; it may have another version: see `ostler status`"
    )]
    Unexpected,
    #[error("{}", .0.message)]
    Refused(WireError),
}
