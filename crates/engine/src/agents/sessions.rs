//! The sessions (conversations) of agents: stored by unit, and inserted into `resume` when a unit is resumed.

use crate::handle::{Handle, Request};
use crate::store::mail::NotKept;
use crate::supervisor::Supervisor;
use ostler_core::unit::Declared;
use ostler_model::{AgentSession, OsText, RunId, RunRecord, Termination, What};
use serde_json::json;
use std::collections::HashMap;
use thiserror::Error;
use tokio::sync::oneshot;

/// How long the session of a withdrawn unit is kept: the unit may be declared again.
const KEPT_MS: u64 = 90 * 24 * 60 * 60 * 1_000;
/// A resumed agent that fails within this time did not find its conversation.
const AT_ONCE_MS: u64 = 20_000;

/// Resumes with a session: the runs, and the sessions with which the last resume failed.
#[derive(Debug, Default)]
pub(crate) struct Resumes {
    by_run: HashMap<RunId, AgentSession>,
    failed: HashMap<String, String>,
}

/// Why a session is not stored.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SessionRefused {
    #[error(
        "{0:?} is not a session id: use at most 200 letters, digits and - _ . :, beginning with a letter or digit"
    )]
    BadId(String),
    #[error("no unit and no run of a unit is named {0:?}; run `ostler ls` to list units")]
    NoSuch(String),
    #[error(
        "run {run} is not the latest run of {unit}, so its session is not the current session of {unit}"
    )]
    Older { run: RunId, unit: String },
    #[error(transparent)]
    NotKept(#[from] NotKept),
}

pub(crate) type SessionReply = oneshot::Sender<Result<(), SessionRefused>>;

/// The command with which a unit that has run before is started.
pub(crate) enum Resumption<'a> {
    /// The unit's command: there is nothing to resume.
    Command,
    /// The unit's command: `resume` names a session, but none is known.
    NoSession,
    /// The unit's command: the last start with this session failed at once.
    FailedSession(&'a AgentSession),
    /// The words of `resume`.
    Resume(Vec<OsText>, Option<&'a AgentSession>),
}

impl Supervisor {
    pub(crate) fn learn_session(
        &mut self,
        of: String,
        session: Option<String>,
    ) -> Result<(), SessionRefused> {
        if let Some(bad) = session.as_ref().filter(|id| !AgentSession::is_id(id)) {
            return Err(SessionRefused::BadId(bad.clone()));
        }
        let (unit, run) = self.session_of(&of)?;
        let Some(record) = self.core.world.unit(&unit) else {
            return Err(SessionRefused::NoSuch(of));
        };
        let program = AgentSession::program_of(&record.spec.argv).to_owned();
        let known = self.agents.sessions.get(&unit).map(|known| (&known.id, &known.program));
        if known == session.as_ref().map(|id| (id, &program)) {
            return Ok(());
        }
        let learned_at_ms = ostler_os::wall_ms();
        let session = session.map(|id| AgentSession { id, program, learned_at_ms });
        self.keep_session(&unit, session.clone()).map_err(NotKept::from)?;
        let (what, why) = match &session {
            Some(session) => (What::SessionLearned, session.id.as_str()),
            None => (What::SessionForgotten, "requested"),
        };
        self.push_entry(run, what, why, json!({ "unit": unit }));
        Ok(())
    }

    fn keep_session(
        &mut self,
        unit: &str,
        session: Option<AgentSession>,
    ) -> Result<(), ostler_registry::RegistryError> {
        self.store.registry.keep_session(self.identity.instance, unit, session.as_ref())?;
        match session {
            Some(session) => self.agents.sessions.insert(unit.to_owned(), session),
            None => self.agents.sessions.remove(unit),
        };
        Ok(())
    }

    /// The unit of the reported session, and its run.
    fn session_of(&self, of: &str) -> Result<(String, Option<RunId>), SessionRefused> {
        if self.core.world.unit(of).is_some() {
            return Ok((of.to_owned(), self.core.world.unit_run(of)));
        }
        let no_such = || SessionRefused::NoSuch(of.to_owned());
        let run: RunId = of.parse().map_err(|_| no_such())?;
        let stored = || self.store.registry.run(run).ok().flatten();
        let record: RunRecord =
            self.core.world.record(run).cloned().or_else(stored).ok_or_else(no_such)?;
        let unit = record.unit.ok_or_else(no_such)?;
        let last = self.core.world.unit_run(&unit).or_else(|| {
            let runs = self.store.registry.runs_of(&unit, 1).unwrap_or_default();
            runs.first().map(|record| record.run_id)
        });
        match last {
            Some(last) if last != run => Err(SessionRefused::Older { run, unit }),
            Some(_) | None => Ok((unit, Some(run))),
        }
    }

    /// The command with which this run of the unit is started.
    pub(crate) fn resumption(&self, unit: &str, run: RunId) -> Resumption<'_> {
        let Some(record) = self.core.world.unit(unit) else { return Resumption::Command };
        let Some(resume) = &record.spec.resume else { return Resumption::Command };
        let is_named = resume.iter().any(|word| word.contains(AgentSession::PLACEHOLDER));
        let program = AgentSession::program_of(&record.spec.argv);
        let session = self.agents.sessions.get(unit).filter(|session| session.program == program);
        let has_failed =
            |session: &AgentSession| self.agents.resumes.failed.get(unit) == Some(&session.id);
        match (is_named, session) {
            (true, Some(session)) if has_failed(session) => Resumption::FailedSession(session),
            (true, Some(session)) => {
                let put = |word: &String| word.replace(AgentSession::PLACEHOLDER, &session.id);
                let words = resume.iter().map(|word| OsText::from(&*put(word))).collect();
                Resumption::Resume(words, Some(session))
            }
            (true, None) if self.has_run(unit, run) => Resumption::NoSession,
            (false, _) if self.has_run(unit, run) => {
                Resumption::Resume(resume.iter().map(|word| OsText::from(&**word)).collect(), None)
            }
            (true, None) | (false, _) => Resumption::Command,
        }
    }

    /// Records in the journal which command was started.
    pub(crate) fn note_resumption(&mut self, unit: &str, run: RunId) {
        let (what, why) = match self.resumption(unit, run) {
            Resumption::Command => return,
            Resumption::NoSession => {
                let why =
                    "no session is known for {session} in resume: running its command instead";
                (What::Degraded, why.to_owned())
            }
            Resumption::FailedSession(session) => {
                let id = &session.id;
                let why = format!("session {id} could not be resumed: running its command instead");
                (What::Degraded, why)
            }
            Resumption::Resume(_, Some(session)) => {
                let session = session.clone();
                let why = format!("session {} of {}", session.id, session.program);
                self.agents.resumes.by_run.insert(run, session);
                (What::Resumed, why)
            }
            Resumption::Resume(_, None) => {
                (What::Resumed, "resumed after an earlier run".to_owned())
            }
        };
        self.run_entry(run, what, &why, json!({ "unit": unit }));
    }

    /// Called when a run has ended. An agent does not know every session that it reported: it may have stored nothing
    /// yet. If its resume fails at once, the next start runs the command. If that fails at once as well, the cause was
    /// another one, and the session is tried again.
    pub(crate) fn judge_resumption(&mut self, record: &RunRecord) {
        let resumed = self.agents.resumes.by_run.remove(&record.run_id);
        let Some(unit) = &record.unit else { return };
        let lived_ms = record.started_mono_ms.map(|at| ostler_os::mono_ms().saturating_sub(at));
        let is_at_once = lived_ms.is_some_and(|lived_ms| lived_ms < AT_ONCE_MS);
        let has_failed = record.exit_code.is_some_and(|code| code != 0);
        // An agent that was stopped, or put to sleep, may exit with a code of its own.
        let is_its_own = record.termination == Some(Termination::Exit);
        if !has_failed || !is_at_once || !is_its_own {
            return;
        }
        match resumed {
            Some(session) => self.agents.resumes.failed.insert(unit.clone(), session.id),
            None => self.agents.resumes.failed.remove(unit),
        };
    }

    /// Another program does not know the sessions of the one before.
    pub(crate) fn forget_foreign_sessions(&mut self, declared: &[Declared]) {
        for Declared { spec, .. } in declared {
            let program = AgentSession::program_of(&spec.argv);
            let known = self.agents.sessions.get(&spec.name);
            let Some(known) = known.filter(|known| known.program != program) else { continue };
            let why = format!("its program changed: now {program}, before {}", known.program);
            // If this fails, the session is not used either, because the program differs.
            if self.keep_session(&spec.name, None).is_ok() {
                self.entry(What::SessionForgotten, &why, json!({ "unit": spec.name }));
            }
        }
    }

    pub(crate) fn forget_old_sessions(&mut self) {
        let before_ms = ostler_os::wall_ms().saturating_sub(KEPT_MS);
        let is_old = |session: &AgentSession| session.learned_at_ms < before_ms;
        if self.agents.sessions.values().any(is_old)
            && self.store.registry.forget_sessions(self.identity.instance, before_ms).is_ok()
        {
            self.agents.sessions =
                self.store.registry.sessions(self.identity.instance).unwrap_or_default();
        }
    }
}

impl Handle {
    /// Replies after the change is on disk.
    pub async fn learn_session(
        &self,
        of: String,
        session: Option<String>,
    ) -> Result<(), SessionRefused> {
        let answer = self.ask(|reply| Request::Session { of, session, reply }).await;
        answer.unwrap_or(Err(SessionRefused::NotKept(NotKept::ShuttingDown)))
    }
}
