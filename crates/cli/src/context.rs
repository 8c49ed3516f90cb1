//! What every verb starts from: the home, and the way to its supervisor.

use crate::exit::Failure;
use ostler_client::{Client, Start, connect};
use ostler_engine::Home;

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
        self.connect_with(self.start)
    }

    /// To a supervisor that is there, or not at all.
    pub fn connect_running(&self) -> Result<Client, Failure> {
        self.connect_with(Start::Never)
    }

    fn connect_with(&self, start: Start) -> Result<Client, Failure> {
        let program = std::env::current_exe()?;
        let home = &self.home;
        Ok(connect(home.path(), home.socket(), &home.log(), &program, start)?)
    }
}
