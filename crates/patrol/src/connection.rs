//! The way to the supervisor. One that was replaced meanwhile is found again.

use crate::error::PatrolError;
use ostler_client::{Client, ClientError};
use ostler_model::wire::{
    Answer, AwaitCall, AwaitUntil, Call, LookCall, RunFilter, ScreenText, Target, UnitAsk,
    UnitsCall,
};
use ostler_model::{
    AgentSessionCall, Depth, Mail, MailCall, MailDraft, Nudge, NudgeCall, PatrolCall, PatrolMemory,
    PatrolNote, PatrolSave, RunRecord, UnitLook, UnitView, Waiting,
};
use std::sync::Arc;
use std::time::Duration;

type Connect = Arc<dyn Fn() -> Result<Client, ClientError> + Send + Sync>;

/// An answer that takes longer is none: a tick has to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// One way in for each thread that asks.
#[derive(Clone)]
pub struct Door {
    connect: Connect,
}

/// The unit that is the patrol itself.
const PATROL: &str = "patrol";

/// A door that is open.
pub struct Asking {
    connect: Connect,
    client: Client,
}

impl Door {
    pub fn new(connect: impl Fn() -> Result<Client, ClientError> + Send + Sync + 'static) -> Self {
        Self { connect: Arc::new(connect) }
    }

    pub fn open(&self) -> Result<Asking, PatrolError> {
        let client = (self.connect)()?;
        client.be_patient(Some(PATIENCE))?;
        Ok(Asking { connect: Arc::clone(&self.connect), client })
    }

    /// For what takes the connection over.
    pub fn client(&self) -> Result<Client, PatrolError> {
        Ok((self.connect)()?)
    }
}

impl Asking {
    /// Asked once more if the supervisor was replaced under the question: all that the patrol asks may be asked twice.
    pub fn call(&mut self, call: Call) -> Result<Answer, PatrolError> {
        match self.client.call(call.clone()) {
            Err(ClientError::Lost(_)) => {
                self.client = (self.connect)()?;
                self.client.be_patient(Some(PATIENCE))?;
                Ok(self.client.call(call)?)
            }
            outcome => Ok(outcome?),
        }
    }

    pub fn wait_longer(&self, patience: Duration) -> Result<(), PatrolError> {
        Ok(self.client.be_patient(Some(patience))?)
    }

    pub fn looks(&mut self, names: Vec<String>) -> Result<Vec<UnitLook>, PatrolError> {
        match self.call(Call::Look(LookCall { names, depth: Depth::Tree, brief: false }))? {
            Answer::Looks(looks) => Ok(looks),
            _ => Err(PatrolError::Unexpected),
        }
    }

    /// The process that ticks by itself, if it runs.
    pub fn patrol_pid(&mut self) -> Option<i32> {
        let call = LookCall { names: vec![PATROL.to_owned()], depth: Depth::None, brief: true };
        match self.call(Call::Look(call)).ok()? {
            Answer::Looks(looks) => looks.into_iter().next()?.view.pid,
            _ => None,
        }
    }

    /// What its agent calls its conversation. One that cannot be kept keeps nobody from working.
    pub fn learn_session(&mut self, unit: &str, session: &str) {
        let call = AgentSessionCall { of: unit.to_owned(), session: Some(session.to_owned()) };
        let _ = self.call(Call::AgentSession(call));
    }

    pub fn live_runs(&mut self) -> Result<Vec<RunRecord>, PatrolError> {
        match self.call(Call::Runs(RunFilter { live_only: true, ..RunFilter::default() }))? {
            Answer::Runs(runs) => Ok(runs),
            _ => Err(PatrolError::Unexpected),
        }
    }

    pub fn ask_unit(&mut self, name: &str, ask: UnitAsk) -> Result<(), PatrolError> {
        self.call(Call::Units(UnitsCall { names: vec![name.to_owned()], ask })).map(|_| ())
    }

    /// As it is once it is settled, one way or the other.
    pub fn settled(&mut self, name: &str) -> Result<Option<UnitView>, PatrolError> {
        let call = AwaitCall { names: vec![name.to_owned()], until: AwaitUntil::Settled };
        match self.call(Call::AwaitUnits(call))? {
            Answer::Units(views) => Ok(views.into_iter().next()),
            _ => Err(PatrolError::Unexpected),
        }
    }

    /// Answers when nothing of it is left.
    pub fn stopped(&mut self, name: &str) -> Result<(), PatrolError> {
        let call = AwaitCall { names: vec![name.to_owned()], until: AwaitUntil::Stopped };
        self.wait_longer(Duration::from_secs(120))?;
        self.call(Call::AwaitUnits(call)).map(|_| ())
    }

    pub fn screen(&mut self, run: String) -> Result<ScreenText, PatrolError> {
        match self.call(Call::Screen(Target { run }))? {
            Answer::Screen(screen) => Ok(screen),
            _ => Err(PatrolError::Unexpected),
        }
    }

    pub fn waiting(&mut self) -> Result<Vec<Waiting>, PatrolError> {
        match self.call(Call::Mail(MailCall::Counts))? {
            Answer::Waiting(waiting) => Ok(waiting),
            _ => Err(PatrolError::Unexpected),
        }
    }

    pub fn mails(&mut self, call: MailCall) -> Result<Vec<Mail>, PatrolError> {
        match self.call(Call::Mail(call))? {
            Answer::Mails(mails) => Ok(mails),
            Answer::Asked => Ok(Vec::new()),
            _ => Err(PatrolError::Unexpected),
        }
    }

    pub fn send(&mut self, draft: MailDraft) -> Result<(), PatrolError> {
        self.mails(MailCall::Send(draft)).map(|_| ())
    }

    pub fn nudges(&mut self, call: NudgeCall) -> Result<Vec<Nudge>, PatrolError> {
        match self.call(Call::Nudges(call))? {
            Answer::Nudges(nudges) => Ok(nudges),
            Answer::Asked => Ok(Vec::new()),
            _ => Err(PatrolError::Unexpected),
        }
    }

    pub fn memory(&mut self) -> Result<PatrolMemory, PatrolError> {
        match self.call(Call::Patrol(Box::new(PatrolCall::Load)))? {
            Answer::Patrol(memory) => Ok(*memory),
            _ => Err(PatrolError::Unexpected),
        }
    }

    pub fn save(&mut self, save: PatrolSave) -> Result<(), PatrolError> {
        self.call(Call::Patrol(Box::new(PatrolCall::Save(save)))).map(|_| ())
    }

    pub fn note(&mut self, notes: Vec<PatrolNote>) -> Result<(), PatrolError> {
        if notes.is_empty() {
            return Ok(());
        }
        self.call(Call::Patrol(Box::new(PatrolCall::Note(notes)))).map(|_| ())
    }
}
