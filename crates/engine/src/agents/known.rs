//! The dispatcher's side of agents: views, reports and nudges.

use super::watch::{Reply, WatchCommand, Watched, cut};
use crate::handle::{Handle, Request};
use crate::supervisor::Supervisor;
use ostler_core::Event;
use ostler_core::agent::AgentEvent;
use ostler_model::{
    Actor, AgentIdle, AgentKnown, AgentReport, AgentState, AgentView, Backend, Limits, OsText,
    Purpose, Resources, RunId, UnitState, UnitView,
};
use ostler_os::TreeSubject;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Longer texts are cut.
const QUESTION_MOST: usize = 2_000;
const SESSION_MOST: usize = 200;
const PROMPT_MOST: usize = 32 << 10;
const DELIVERY_MS: u64 = 60_000;

pub(crate) enum AgentRequest {
    Known {
        run: RunId,
        fresh: bool,
        reply: Reply,
    },
    Report {
        run: RunId,
        pid: i32,
        report: AgentReport,
        reply: oneshot::Sender<Result<(), NotOfRun>>,
    },
}

/// The reporting process does not belong to the run, or the run is not live here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotOfRun;

impl Supervisor {
    /// From now on, the run's screen is judged, if it has one.
    pub(crate) fn watch_screen(&mut self, run: RunId) {
        let Some(live) = self.runs.live.get(&run) else { return };
        if live.output.draw_signal().is_none() {
            return;
        }
        live.output.answer_queries(&live.input, &live.attach_count);
        let scope = live.scope.as_ref();
        let subject = TreeSubject {
            root: live.leader,
            boundary: scope.and_then(ostler_os::Scope::boundary),
            pane_note: scope.and_then(ostler_os::Scope::pane_note).cloned(),
            reaper: scope.and_then(ostler_os::Scope::reaper).map(|reaper| reaper.fingerprint().pid),
        };
        let (agent, argv) = self.named(run);
        let output = Arc::clone(&live.output);
        let watched = Watched {
            output,
            agent,
            argv,
            subject,
            since_ms: None,
            due_ms: None,
            tree: None,
            last: None,
        };
        self.agents.screens.add(run, watched);
    }

    pub(crate) fn unwatch_screen(&self, run: RunId) {
        self.agents.screens.order(WatchCommand::Remove(run));
    }

    /// Called when the declarations of agents may have changed.
    pub(crate) fn name_agents(&self) {
        for live in self.runs.live.values().filter(|live| live.output.draw_signal().is_some()) {
            let (agent, argv) = self.named(live.run);
            self.agents.screens.order(WatchCommand::Name { run: live.run, agent, argv });
        }
    }

    /// The declared agent of the run, and its command.
    fn named(&self, run: RunId) -> (Option<String>, Vec<String>) {
        let record = self.core.world.record(run);
        let unit = record.and_then(|record| self.core.world.unit(record.unit.as_deref()?));
        match (unit, record) {
            (Some(unit), _) => (unit.spec.agent.clone(), unit.spec.argv.clone()),
            (None, Some(record)) => {
                (None, record.command.split_whitespace().map(str::to_owned).collect())
            }
            (None, None) => (None, Vec::new()),
        }
    }

    /// The view of a unit that should run and whose process has ended, if its declaration or command names an agent.
    pub(crate) fn dead_agent(&self, view: &UnitView) -> Option<AgentView> {
        if !matches!(view.state, UnitState::Backoff | UnitState::Error) || view.run_id.is_some() {
            return None;
        }
        let spec = &self.core.world.unit(&view.name)?.spec;
        matches!(spec.backend, Backend::Pty | Backend::Tmux).then_some(())?;
        let profile = self.agents.screens.profile(spec.agent.as_deref(), &spec.argv)?;
        let ended = view.ends.last().map(|end| end.at_ms);
        let dead_since_ms = Some(ended.unwrap_or(view.since_ms));
        let evidence = "its process has exited".to_owned();
        let since_ms = view.since_ms;
        Some(AgentView { profile, dead_since_ms, since_ms, evidence, ..AgentView::default() })
    }

    /// Handles the judgements since the last turn.
    pub(crate) fn take_screen_events(&mut self) {
        while let Ok(news) = self.agents.screens.news.try_recv() {
            let rests = news.judged.as_ref().is_some_and(|j| j.state == AgentState::Idle);
            self.screen_says(news.run, news.judged.as_ref().map(|judged| judged.state));
            let event =
                AgentEvent::Judged { judged: news.judged, changed_mono_ms: news.changed_mono_ms };
            self.core.events.push_back(Event::Agent { run: news.run, event });
            if rests {
                self.deliver_nudges(news.run);
            }
            if let Some(reply) = news.reply {
                // Reply after the judgement took effect.
                self.turn();
                let _ = reply.send(self.core.world.agent(news.run));
            }
        }
    }

    /// Sets whether the unit may be suspended. An unknown state leaves that to the unit's silence, or to other reports.
    fn screen_says(&mut self, run: RunId, state: Option<AgentState>) {
        let idle = match state {
            None => return,
            Some(AgentState::Idle) => AgentIdle::Since { since_ms: self.idle_since(run) },
            Some(
                AgentState::Working
                | AgentState::Waiting
                | AgentState::Limited
                | AgentState::Starting,
            ) => AgentIdle::No,
            Some(AgentState::Unknown) => AgentIdle::Unknown,
        };
        if self.runs.live.contains_key(&run) {
            self.agents.agent_idle.insert(run, idle);
        }
    }

    /// Since when the agent is idle: as before, or from now on.
    fn idle_since(&self, run: RunId) -> u64 {
        let view = self.core.world.agent(run).view.filter(|view| view.state == AgentState::Idle);
        view.map_or_else(ostler_os::wall_ms, |view| view.since_ms)
    }

    /// Types queued nudges when the agent becomes idle, in a separate process like any other nudge.
    fn deliver_nudges(&mut self, run: RunId) {
        let under_way = self.agents.delivering.get(&run);
        if under_way.is_some_and(|delivery| self.runs.live.contains_key(delivery)) {
            return;
        }
        let unit = self.core.world.record(run).and_then(|record| record.unit.clone());
        let Some(unit) = unit else { return };
        let waits =
            self.store.registry.queued_nudges(self.identity.instance, &unit, ostler_os::wall_ms());
        let Some(record) =
            self.core.world.unit(&unit).filter(|_| waits.is_ok_and(|count| count > 0))
        else {
            return;
        };
        let Ok(program) = ostler_os::own_executable() else { return };
        let mut spec = crate::units::run_spec(&record.spec);
        let words = [program.into_os_string(), "nudge".into(), "--deliver".into(), unit.into()];
        spec.argv = words.into_iter().map(|word| OsText(word.into_vec())).collect();
        let home = format!("OSTLER_HOME={}", self.identity.home.path().display());
        spec.env.push(OsText(home.into_bytes()));
        spec.backend = Backend::Pipe;
        spec.purpose = Purpose::Delivery;
        spec.unit = None;
        // One at a time for each unit: the next delivery starts when the agent becomes idle again.
        spec.scope_key = None;
        spec.limits = Limits { timeout_ms: Some(DELIVERY_MS), ..Limits::default() };
        spec.resources = Resources::default();
        let Ok(delivery) = self.new_run(Box::new(spec), Actor::Supervisor) else { return };
        self.agents.delivering.retain(|_, delivery| self.runs.live.contains_key(delivery));
        self.agents.delivering.insert(run, delivery);
    }

    pub(crate) fn take_agent(&mut self, request: AgentRequest) {
        match request {
            AgentRequest::Known { run, fresh, reply } => {
                let is_drawn = self
                    .runs
                    .live
                    .get(&run)
                    .is_some_and(|live| live.output.draw_signal().is_some());
                if fresh && is_drawn {
                    self.agents.screens.order(WatchCommand::Look(run, reply));
                } else {
                    let _ = reply.send(self.core.world.agent(run));
                }
            }
            AgentRequest::Report { run, pid, report, reply } => {
                let outcome = match self.run_of_pid(pid) {
                    Some(own) if own == run => {
                        if let Some(session) = report.session.clone() {
                            let of = run.to_string();
                            let _ = self.learn_session(of, Some(session));
                        }
                        let event = AgentEvent::Reported(bounded(report));
                        self.core.events.push_back(Event::Agent { run, event });
                        self.turn();
                        Ok(())
                    }
                    Some(_) | None => Err(NotOfRun),
                };
                let _ = reply.send(outcome);
            }
        }
    }
}

fn bounded(report: AgentReport) -> AgentReport {
    let short = |text: Option<String>, most: usize| text.map(|text| cut(&text, most));
    AgentReport {
        question: short(report.question, QUESTION_MOST),
        session: short(report.session, SESSION_MOST),
        prompt: short(report.prompt, PROMPT_MOST),
        ..report
    }
}

impl Handle {
    /// The known state of the agent on a run's terminal. With `fresh`, its screen is judged first.
    pub async fn agent(&self, run: RunId, fresh: bool) -> AgentKnown {
        let request = |reply| Request::Agent(AgentRequest::Known { run, fresh, reply });
        self.ask(request).await.unwrap_or_default()
    }

    /// An agent's own report, accepted if the reporting process belongs to the run.
    pub async fn report(&self, run: RunId, pid: i32, report: AgentReport) -> Result<(), NotOfRun> {
        let request = |reply| Request::Agent(AgentRequest::Report { run, pid, report, reply });
        self.ask(request).await.unwrap_or(Err(NotOfRun))
    }
}
