//! Connections to the supervisor.

use crate::error::PatrolError;
use ostler_client::{Client, ClientError, UnitAsk};
use ostler_model::{
    Depth, Mail, MailDraft, Nudge, PatrolMemory, PatrolNote, PatrolSave, RunRecord, ScreenText,
    UnitLook, UnitView, Waiting,
};
use ostler_ops::units::{Await, AwaitUntil, Look};
use ostler_ops::{Operation, agents, mail, nudges, patrol, runs};
use std::sync::Arc;
use std::time::Duration;

type Connect = Arc<dyn Fn() -> Result<Client, ClientError> + Send + Sync>;

/// How long to wait for a response: a tick has to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// Opens connections, one for each thread that needs one.
#[derive(Clone)]
pub struct Connector {
    connect: Connect,
}

/// The unit of the patrol itself.
const PATROL: &str = "patrol";

pub struct Connection {
    client: Client,
}

impl Connector {
    pub fn new(connect: impl Fn() -> Result<Client, ClientError> + Send + Sync + 'static) -> Self {
        Self { connect: Arc::new(connect) }
    }

    pub fn open(&self) -> Result<Connection, PatrolError> {
        let client = (self.connect)()?;
        client.be_patient(Some(PATIENCE))?;
        Ok(Connection { client })
    }

    /// A bare client, for a call that takes over the connection.
    pub fn client(&self) -> Result<Client, PatrolError> {
        Ok((self.connect)()?)
    }
}

impl Connection {
    pub fn call<O: Operation>(&mut self, operation: &O) -> Result<O::Response, PatrolError> {
        Ok(self.client.call(operation)?)
    }

    pub fn wait_longer(&self, patience: Duration) -> Result<(), PatrolError> {
        Ok(self.client.be_patient(Some(patience))?)
    }

    pub fn looks(&mut self, names: Vec<String>) -> Result<Vec<UnitLook>, PatrolError> {
        self.call(&Look { names, depth: Depth::Tree, brief: false })
    }

    /// The pid of the patrol process, if it runs.
    pub fn patrol_pid(&mut self) -> Option<i32> {
        let look = Look { names: vec![PATROL.to_owned()], depth: Depth::None, brief: true };
        self.call(&look).ok()?.into_iter().next()?.view.pid
    }

    /// Stores the id of the agent's conversation. A failure is ignored: it must not stop the agent's work.
    pub fn learn_session(&mut self, unit: &str, session: &str) {
        let session = Some(session.to_owned());
        let _ = self.call(&agents::Session { of: unit.to_owned(), session });
    }

    pub fn live_runs(&mut self) -> Result<Vec<RunRecord>, PatrolError> {
        self.call(&runs::List { live_only: true, ..runs::List::default() })
    }

    pub fn ask_unit(&mut self, name: &str, ask: UnitAsk) -> Result<(), PatrolError> {
        Ok(self.client.ask_units(vec![name.to_owned()], ask)?)
    }

    /// Returns the unit once it is settled, running or not.
    pub fn settled(&mut self, name: &str) -> Result<Option<UnitView>, PatrolError> {
        let call = Await { names: vec![name.to_owned()], until: AwaitUntil::Settled };
        Ok(self.call(&call)?.into_iter().next())
    }

    /// Returns once the unit is stopped.
    pub fn stopped(&mut self, name: &str) -> Result<(), PatrolError> {
        let call = Await { names: vec![name.to_owned()], until: AwaitUntil::Stopped };
        self.wait_longer(Duration::from_secs(120))?;
        self.call(&call).map(|_| ())
    }

    pub fn screen(&mut self, run: String) -> Result<ScreenText, PatrolError> {
        self.call(&runs::Screen { run })
    }

    pub fn waiting(&mut self) -> Result<Vec<Waiting>, PatrolError> {
        self.call(&mail::Counts {})
    }

    /// The first page of unread mail.
    pub fn unread(&mut self, to: &str) -> Result<Vec<Mail>, PatrolError> {
        self.call(&mail::Inbox { to: to.to_owned(), unread_only: true, after: None })
    }

    pub fn send(&mut self, draft: MailDraft) -> Result<(), PatrolError> {
        self.call(&mail::Send(draft)).map(|_| ())
    }

    pub fn nudges(&mut self) -> Result<Vec<Nudge>, PatrolError> {
        self.call(&nudges::List { to: None })
    }

    pub fn memory(&mut self) -> Result<PatrolMemory, PatrolError> {
        self.call(&patrol::Load {})
    }

    pub fn save(&mut self, save: PatrolSave) -> Result<(), PatrolError> {
        self.call(&patrol::Save(Box::new(save))).map(|_| ())
    }

    pub fn note(&mut self, notes: Vec<PatrolNote>) -> Result<(), PatrolError> {
        if notes.is_empty() {
            return Ok(());
        }
        self.call(&patrol::Note { notes }).map(|_| ())
    }
}
