//! What every verb starts from: the home, and the way to its supervisor.

use crate::args::parse_duration;
use crate::exit::Failure;
use ostler_client::{
    Client, ClientError, Found, HomePaths, RESENDS_MOST, Start, ask, connect, find,
};
use ostler_engine::Home;
use ostler_ops::Operation;
use std::ffi::OsString;
use std::path::PathBuf;

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

    /// For whoever has one question, which changes nothing.
    pub fn ask<O: Operation>(&self, question: &O) -> Result<O::Response, Failure> {
        Ok(ask(&self.place()?, self.start, question)?)
    }

    /// To a supervisor that is there, or not at all.
    pub fn connect_running(&self) -> Result<Client, Failure> {
        let place = self.place()?;
        Ok(connect(&place, Start::Never)?.reconnecting(&place))
    }

    /// To a supervisor that is there, or is being started again at this moment; for whoever asks again and again.
    pub fn connect_patiently(&self) -> Result<Client, ClientError> {
        let home = self.home.path().to_owned();
        let place = self.place().map_err(|_| ClientError::NotRunning { home })?;
        Ok(connect(&place, Start::Never)?.reconnecting(&place))
    }

    /// To the successor of one that went away. Nobody is started for it: it may have been stopped.
    pub fn connect_again(&self) -> Result<Client, Failure> {
        let home = self.home.path().to_owned();
        Ok(self.connect_successor()?.ok_or_else(|| match self.home.is_stopped() {
            true => ClientError::Stopped { home },
            false => ClientError::Gone { home },
        })?)
    }

    /// The same; `None` if the home has no owner any more.
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

    /// A request over which as many supervisors ended as may: it is sent to no other.
    pub fn deadly(&self) -> ClientError {
        ClientError::Deadly { home: self.home.path().to_owned(), deaths: RESENDS_MOST + 1 }
    }

    /// To the one that is there, or to a new one.
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
        })
    }
}

/// The guardian leaves the folder we are in, so what is named relative to it is named anew.
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
