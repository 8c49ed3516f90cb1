//! The only place that calls tmux. Each call is a client process with a timeout. A server that does not answer is in an
//! unknown state, not dead; only the client is killed.

use ostler_os::{ClientOutcome, ask_client};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use thiserror::Error;

/// The time a server has for an answer.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Why there is no answer. Only `NoServer` is a fact about sessions: there are none.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TmuxError {
    #[error("no tmux server runs at {}", socket.display())]
    NoServer { socket: PathBuf },
    #[error("the tmux server at {} did not answer within {} ms", socket.display(), limit.as_millis())]
    Silent { socket: PathBuf, limit: Duration },
    #[error("the tmux server at {} belongs to uid {owner}: ostler does not send it your environment; use your own server", socket.display())]
    Foreign { socket: PathBuf, owner: u32 },
    #[error("tmux failed: {error_output}")]
    Refused { error_output: String },
    #[error("cannot run {}: {why}", program.display())]
    NotRun { program: PathBuf, why: String },
    #[error("unexpected output of tmux: {text:?}")]
    Garbled { text: String },
}

static ASKED: AtomicU64 = AtomicU64::new(0);

/// How many tmux processes this process has started.
pub fn processes_started() -> u64 {
    ASKED.load(Ordering::Relaxed)
}

/// A server, identified by its socket, and the tmux program to call.
#[derive(Clone, Debug)]
pub struct Server {
    program: PathBuf,
    socket: PathBuf,
    limit: Duration,
}

/// The output of tmux, and whether all commands succeeded.
#[derive(Clone, Debug)]
pub struct TmuxOutput {
    pub text: String,
    /// `None` if all succeeded.
    pub error_output: Option<String>,
}

impl Server {
    pub fn at(socket: impl Into<PathBuf>) -> Self {
        Self { program: PathBuf::from("tmux"), socket: socket.into(), limit: PATIENCE }
    }

    pub fn with_program(self, program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), ..self }
    }

    pub fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Runs the commands. If one fails, the call fails.
    pub fn ask<A: AsRef<OsStr>>(&self, words: &[A]) -> Result<String, TmuxError> {
        let printed = self.ask_in_part(words, &[])?;
        match printed.error_output {
            None => Ok(printed.text),
            Some(error_output) => Err(TmuxError::Refused { error_output }),
        }
    }

    /// Starts a server with the caller's rights if none runs. The server has no session yet and is configured to wait
    /// for the first one.
    pub fn start(&self) -> Result<(), TmuxError> {
        if !self.is_absent() {
            return Ok(());
        }
        let refused =
            |error: std::io::Error| TmuxError::Refused { error_output: error.to_string() };
        if let Some(folder) = self.socket.parent().filter(|folder| !folder.exists()) {
            use std::os::unix::fs::DirBuilderExt;
            // tmux creates the directory itself only for sockets that are given by name.
            std::fs::DirBuilder::new().mode(0o700).create(folder).map_err(refused)?;
        }
        let mut words: Vec<&OsStr> = ["-u", "-S"].map(OsStr::new).to_vec();
        words.push(self.socket.as_os_str());
        let wait = "set-option -s exit-empty off ; set-option -s @ostler-waits 1";
        words
            .extend(["start-server", ";", "if-shell", "-F", "#{exit-empty}", wait].map(OsStr::new));
        let printed = self.client(&words, &[])?;
        printed.error_output.map_or(Ok(()), |error_output| Err(TmuxError::Refused { error_output }))
    }

    /// Runs several commands, some of which may fail without the others.
    pub fn ask_in_part<A: AsRef<OsStr>>(
        &self,
        words: &[A],
        input: &[u8],
    ) -> Result<TmuxOutput, TmuxError> {
        // -u: without it, tmux prints every non-ASCII character as an underscore. -N: a query must not start a server,
        // which would then belong to Ostler.
        let mut all: Vec<&OsStr> = ["-u", "-N", "-S"].map(OsStr::new).to_vec();
        all.push(self.socket.as_os_str());
        all.extend(words.iter().map(AsRef::as_ref));
        let printed = self.client(&all, input)?;
        if printed.error_output.is_some() && printed.text.is_empty() && self.is_absent() {
            return Err(TmuxError::NoServer { socket: self.socket.clone() });
        }
        Ok(printed)
    }

    fn client(&self, all: &[&OsStr], input: &[u8]) -> Result<TmuxOutput, TmuxError> {
        self.is_ours()?;
        ASKED.fetch_add(1, Ordering::Relaxed);
        // The caller may itself run in a pane; the call must not depend on it.
        let asked = ask_client(&self.program, all, input, &["TMUX", "TMUX_PANE"], self.limit);
        let output = match asked {
            Ok(ClientOutcome::Answered(output)) => output,
            Ok(ClientOutcome::Silent) => {
                return Err(TmuxError::Silent { socket: self.socket.clone(), limit: self.limit });
            }
            Err(error) => {
                let why = error.to_string();
                return Err(TmuxError::NotRun { program: self.program.clone(), why });
            }
        };
        let text = String::from_utf8_lossy(&output.output).into_owned();
        let error_output =
            (output.code != Some(0)).then(|| match (output.error_output.trim(), output.code) {
                ("", Some(code)) => format!("exit code {code} without a message"),
                ("", None) => "killed by a signal".to_owned(),
                (error_output, _) => error_output.to_owned(),
            });
        Ok(TmuxOutput { text, error_output })
    }

    /// A client sends its environment, so it may connect only to a server of this user.
    fn is_ours(&self) -> Result<(), TmuxError> {
        let user = ostler_os::user_id();
        match ostler_os::owners_of(&self.socket).ok().and_then(|owners| owners.last().copied()) {
            Some(owner) if owner != user => {
                Err(TmuxError::Foreign { socket: self.socket.clone(), owner })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whether no process listens on the socket, as the kernel reports it.
    pub fn is_absent(&self) -> bool {
        match ostler_os::connect(&self.socket) {
            Ok(_) => false,
            Err(error) => matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused
            ),
        }
    }
}
