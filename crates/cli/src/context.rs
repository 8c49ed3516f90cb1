//! The context of every verb: the home directory and the connection to its supervisor.

use crate::args::parse_duration;
use crate::exit::Failure;
use ostler_client::{
    Client, ClientError, Found, HomePaths, RESENDS_MOST, Start, ask, connect, find,
};
use ostler_engine::Home;
use ostler_ops::Operation;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Clone, Debug)]
pub struct Context {
    pub home: Home,
    start: Start,
}

impl Context {
    pub fn new(no_start: bool) -> Result<Self, Failure> {
        let home =
            Home::from_environment(|name| std::env::var_os(name)).map_err(Failure::failed)?;
        Ok(Self { home, start: if no_start { Start::Never } else { Start::IfNeeded } })
    }

    pub fn connect(&self) -> Result<Client, Failure> {
        let place = self.place()?;
        Ok(connect(&place, self.start)?.reconnecting(&place))
    }

    /// Sends one read-only request and returns the response.
    pub fn ask<O: Operation>(&self, question: &O) -> Result<O::Response, Failure> {
        Ok(ask(&self.place()?, self.start, question)?)
    }

    /// Connects to a running supervisor; starts none.
    pub fn connect_running(&self) -> Result<Client, Failure> {
        let place = self.place()?;
        Ok(connect(&place, Start::Never)?.reconnecting(&place))
    }

    /// Connects to a running supervisor, or to one that is restarting now; for callers that poll.
    pub fn connect_patiently(&self) -> Result<Client, ClientError> {
        let home = self.home.path().to_owned();
        let place = self.place().map_err(|_| ClientError::NotRunning { home })?;
        Ok(connect(&place, Start::Never)?.reconnecting(&place))
    }

    /// Connects to the successor of a supervisor that is gone. Starts none, because the user may have stopped it.
    pub fn connect_again(&self) -> Result<Client, Failure> {
        let home = self.home.path().to_owned();
        Ok(self.connect_successor()?.ok_or_else(|| match self.home.is_stopped() {
            true => ClientError::Stopped { home },
            false => ClientError::Gone { home },
        })?)
    }

    /// Like [`Context::connect_again`]; `None` if no supervisor owns the home.
    pub fn connect_successor(&self) -> Result<Option<Client>, Failure> {
        loop {
            let place = self.place()?;
            match connect(&place, Start::Never) {
                Err(ClientError::NotRunning { .. }) => return Ok(None),
                Err(ClientError::NoAnswer { .. }) => {}
                outcome => return Ok(Some(outcome?.reconnecting(&place))),
            }
        }
    }

    /// The error for a request during which the maximum number of supervisors died; it is not sent again.
    pub fn deadly(&self) -> ClientError {
        ClientError::Deadly { home: self.home.path().to_owned(), deaths: RESENDS_MOST + 1 }
    }

    /// Finds the running supervisor, or starts one.
    pub fn start(&self) -> Result<Found, Failure> {
        Ok(find(&self.place()?, Start::IfNeeded)?)
    }

    fn place(&self) -> Result<HomePaths, Failure> {
        Ok(HomePaths {
            home: self.home.path().to_owned(),
            sockets: self.home.sockets(),
            log: self.home.log(),
            program: ostler_os::own_executable()?,
            environment: environment()?,
            met: crate::versions::met,
            waiting: report_waiting,
        })
    }
}

/// Printed at most once per process.
fn report_waiting(why: &str) {
    static IS_PRINTED: AtomicBool = AtomicBool::new(false);
    if !IS_PRINTED.swap(true, Ordering::Relaxed) {
        crate::print::errln!("ostler: waiting for the daemon: {why}");
    }
}

/// The guardian changes its working directory, so relative paths in these variables are made absolute.
fn environment() -> Result<Vec<(&'static str, OsString)>, Failure> {
    let mut environment = Vec::new();
    for name in ["OSTLER_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HOME", "OSTLER_REGISTRY"] {
        let named = std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(path) = named.filter(|path| path.is_relative()) {
            environment.push((name, std::path::absolute(path)?.into_os_string()));
        }
    }
    if let Some(text) = std::env::var("OSTLER_WATCHDOG").ok().filter(|text| !text.is_empty()) {
        let ms = parse_duration(&text)
            .map_err(|error| Failure::usage(format!("OSTLER_WATCHDOG: {error}")))?;
        if ms < 100 {
            return Err(Failure::usage(format!(
                "OSTLER_WATCHDOG: {text} is too short; at least 100ms"
            )));
        }
        environment.push((ostler_guardian::WATCHDOG_VARIABLE, ms.to_string().into()));
    }
    Ok(environment)
}
