//! The patrol's stored state: only the dispatcher writes it, and it replies after it is on disk.

use crate::handle::{Handle, Request};
use crate::store::mail::{NotKept, Reply};
use crate::supervisor::Supervisor;
use ostler_model::{Actor, Entry, PatrolNote, PatrolOrders, PatrolSave, WatchReport};
use ostler_registry::{Batch, Ordered};

pub(crate) enum PatrolRequest {
    Save { save: Box<PatrolSave>, reply: Reply<()> },
    Say { agent: String, said: WatchReport, reply: Reply<()> },
    Order { seen: Box<PatrolOrders>, now: Box<PatrolOrders>, reply: Reply<()> },
    Note { notes: Vec<PatrolNote>, by: Actor, reply: Reply<()> },
}

impl Supervisor {
    pub(crate) fn take_patrol(&mut self, request: PatrolRequest) {
        let instance = self.identity.instance;
        let (done, reply) = match request {
            PatrolRequest::Save { save, reply } => {
                (self.store.registry.save_patrol(instance, &save).map_err(NotKept::from), reply)
            }
            PatrolRequest::Say { agent, said, reply } => {
                let said = self.store.registry.report_agent(instance, &agent, &said);
                (said.map_err(NotKept::from), reply)
            }
            PatrolRequest::Order { seen, now, reply } => {
                let ordered = match self.store.registry.order_patrol(instance, &seen, &now) {
                    Ok(Ordered::Yes) => Ok(()),
                    Ok(Ordered::Changed) => Err(NotKept::Changed),
                    Err(error) => Err(error.into()),
                };
                (ordered, reply)
            }
            PatrolRequest::Note { notes, by, reply } => (self.note_patrol(notes, &by), reply),
        };
        let _ = reply.send(done);
    }

    /// Not retried if it cannot be written: the caller gets the error.
    fn note_patrol(&mut self, notes: Vec<PatrolNote>, by: &Actor) -> Result<(), NotKept> {
        let at_ms = ostler_os::wall_ms();
        let entry = |PatrolNote { unit, what, why, mut evidence }: PatrolNote| {
            if let Some(unit) = unit {
                evidence.insert("unit".to_owned(), unit.into());
            }
            Entry { seq: 0, at_ms, who: by.clone(), what, run_id: None, why, evidence }
        };
        let entries = notes.into_iter().map(entry).collect();
        let mut batch = Batch { entries, ..Batch::default() };
        self.store.registry.commit(self.identity.instance, &mut batch)?;
        if let Some(last) = batch.entries.last() {
            self.store.last_seq.send_replace(last.seq);
        }
        Ok(())
    }
}

impl Handle {
    async fn ask_patrol(
        &self,
        make: impl FnOnce(Reply<()>) -> PatrolRequest,
    ) -> Result<(), NotKept> {
        self.ask(|reply| Request::Patrol(make(reply))).await.unwrap_or(Err(NotKept::ShuttingDown))
    }

    pub async fn save_patrol(&self, save: PatrolSave) -> Result<(), NotKept> {
        self.ask_patrol(|reply| PatrolRequest::Save { save: Box::new(save), reply }).await
    }

    pub async fn report_agent(&self, agent: String, said: WatchReport) -> Result<(), NotKept> {
        self.ask_patrol(|reply| PatrolRequest::Say { agent, said, reply }).await
    }

    /// Replaces the orders, if `seen` is still their current state.
    pub async fn order_patrol(&self, seen: PatrolOrders, now: PatrolOrders) -> Result<(), NotKept> {
        let (seen, now) = (Box::new(seen), Box::new(now));
        self.ask_patrol(|reply| PatrolRequest::Order { seen, now, reply }).await
    }

    pub async fn note_patrol(&self, notes: Vec<PatrolNote>, by: Actor) -> Result<(), NotKept> {
        self.ask_patrol(|reply| PatrolRequest::Note { notes, by, reply }).await
    }
}
