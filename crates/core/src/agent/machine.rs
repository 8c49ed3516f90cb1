//! State of each agent, and when the operator is notified.
//!
//! ```text
//!               a question              another question: notify again
//!   nothing ──────────────────► notified ◄───────┐
//!   to notify    or a limit       │ ─────────────┘
//!      ▲                          │ works, is idle, starts, or is no longer an agent
//!      └──────────────────────────┘
//! ```
//!
//! The operator is notified of a question once, when it appears. The same question drawn again, or drawn after a screen
//! that could not be judged (`unknown`), is not new. The words of a report and those of the screen are one question: only
//! other words on the screen after words on the screen are another one. The operator is notified of a limit once, even if its text changes
//! as time passes. If a program asks without end, its questions are shown, but notifications stop at `REPORTED_MOST`.

use super::rule::{Reported, Seen, view};
use crate::time::Now;
use ostler_model::{
    AgentJudged, AgentKnown, AgentNotified, AgentReport, AgentSource, AgentState, AgentView,
    Condition, RunId, What,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

/// The most notifications for one agent within `REPORTED_WITHIN_MS`.
const REPORTED_MOST: usize = 20;
const REPORTED_WITHIN_MS: u64 = 600_000;
/// The most reports kept for one agent.
const REPORTS_MOST: usize = 16;

/// News about an agent.
#[derive(Clone, Debug)]
pub enum AgentEvent {
    /// Its screen was judged. `None`: no known agent is on it.
    Judged {
        judged: Option<AgentJudged>,
        /// The last time the screen changed, on the monotonic clock.
        changed_mono_ms: u64,
    },
    Reported(AgentReport),
}

/// An entry for the journal, and perhaps a notification.
#[derive(Clone, Debug, PartialEq)]
pub struct News {
    pub what: What,
    pub condition: Option<Condition>,
    pub why: String,
    pub evidence: Value,
    /// Text for the operator: `why`, and the possible answers.
    pub message: String,
    /// What the operator has been notified of from now on.
    pub description: Option<AgentNotified>,
}

#[derive(Debug, Default)]
pub(crate) struct Agents {
    by_run: BTreeMap<RunId, Box<Agent>>,
}

#[derive(Debug, Default)]
struct Agent {
    seen: Option<Seen>,
    reported: Option<Reported>,
    reports: VecDeque<AgentReport>,
    session: Option<String>,
    view: Option<AgentView>,
    description: Option<AgentNotified>,
    /// Whose words the operator was last notified of; not known of an earlier supervisor.
    worded_by: Option<AgentSource>,
    /// When notifications were sent.
    reported_mono_ms: VecDeque<u64>,
}

impl Agents {
    pub(crate) fn view(&self, run: RunId) -> Option<&AgentView> {
        self.by_run.get(&run)?.view.as_ref()
    }

    pub(crate) fn known(&self, run: RunId) -> AgentKnown {
        let Some(agent) = self.by_run.get(&run) else { return AgentKnown::default() };
        AgentKnown { view: agent.view.clone(), reports: agent.reports.iter().cloned().collect() }
    }

    pub(crate) fn forget(&mut self, run: RunId) {
        self.by_run.remove(&run);
    }

    /// `description` is what the previous supervisor notified of for this run.
    pub(crate) fn step(
        &mut self,
        run: RunId,
        description: Option<AgentNotified>,
        event: AgentEvent,
        now: Now,
    ) -> Option<News> {
        let is_nothing = matches!(event, AgentEvent::Judged { judged: None, .. });
        if is_nothing && !self.by_run.contains_key(&run) && description.is_none() {
            return None;
        }
        let agent = self
            .by_run
            .entry(run)
            .or_insert_with(|| Box::new(Agent { description, ..Agent::default() }));
        agent.take(event, now);
        agent.notify(run, now)
    }
}

impl Agent {
    fn take(&mut self, event: AgentEvent, now: Now) {
        match event {
            AgentEvent::Judged { judged: None, .. } => self.seen = None,
            AgentEvent::Judged { judged: Some(judged), changed_mono_ms } => {
                let before = self.seen.as_ref().filter(|seen| seen.says(&judged));
                let changed_mono_ms = before.map_or(changed_mono_ms, |seen| seen.changed_mono_ms);
                // The same message, read again later, would end a day later.
                let until_ms = before.and_then(|seen| seen.judged.until_ms).or(judged.until_ms);
                let judged = AgentJudged { until_ms, ..judged };
                self.seen = Some(Seen { judged, changed_mono_ms });
            }
            AgentEvent::Reported(report) => {
                let report = AgentReport { at_ms: now.wall_ms, ..report };
                if report.session.is_some() {
                    self.session.clone_from(&report.session);
                }
                if let Some(state) = report.state {
                    let report = report.clone();
                    self.reported = Some(Reported { state, report, at_mono_ms: now.mono_ms });
                }
                self.reports.push_back(report);
                while self.reports.len() > REPORTS_MOST {
                    self.reports.pop_front();
                }
            }
        }
        let shown = view(self.seen.as_ref(), self.reported.as_ref());
        self.view = shown.map(|shown| {
            let same = self.view.as_ref().filter(|before| {
                (before.state, &before.question) == (shown.state, &shown.question)
            });
            let since_ms = same.map_or(now.wall_ms, |before| before.since_ms);
            AgentView { since_ms, session: self.session.clone(), ..shown }
        });
    }

    fn notify(&mut self, run: RunId, at: Now) -> Option<News> {
        let (what, condition) = match self.view.as_ref().map(|view| view.state) {
            None => return self.is_over("the question is no longer on the screen"),
            Some(AgentState::Unknown) => return None,
            Some(AgentState::Working) => return self.is_over("the agent is working"),
            Some(AgentState::Idle) => return self.is_over("the agent is idle"),
            Some(AgentState::Starting) => return self.is_over("the agent is starting"),
            Some(AgentState::Waiting) => (What::AgentWaiting, Condition::Waiting),
            Some(AgentState::Limited) => (What::AgentLimited, Condition::Limited),
        };
        let view = self.view.as_ref()?;
        let now = AgentNotified { run, state: view.state, question: view.question.clone() };
        let is_same = |description: &AgentNotified| {
            description.state == now.state
                && (now.state == AgentState::Limited || description.question == now.question)
        };
        let source = view.source;
        let is_reworded = |description: &AgentNotified| {
            let is_report = |source| source == AgentSource::Report;
            description.state == now.state
                && (is_report(source) || self.worded_by.is_some_and(is_report))
        };
        if self.description.as_ref().is_some_and(is_same) {
            return None;
        }
        if self.description.as_ref().is_some_and(is_reworded) {
            self.description = Some(now);
            self.worded_by = Some(source);
            return None;
        }
        self.reported_mono_ms
            .retain(|description| at.mono_ms.saturating_sub(*description) < REPORTED_WITHIN_MS);
        if self.reported_mono_ms.len() >= REPORTED_MOST {
            return None;
        }
        self.reported_mono_ms.push_back(at.mono_ms);
        self.description = Some(now.clone());
        self.worded_by = Some(source);
        let evidence = json!({
            "agent": view.profile,
            "choices": Some(&view.choices).filter(|choices| !choices.is_empty()),
            "untilMs": view.until_ms,
            "seen": view.evidence,
        });
        let why = view.question.clone().unwrap_or_else(|| view.evidence.clone());
        let message = match view.choices.is_empty() {
            true => why.clone(),
            false => format!("{why} [{}]", view.choices.join(" / ")),
        };
        Some(News {
            what,
            condition: Some(condition),
            why,
            evidence,
            message,
            description: Some(now),
        })
    }

    fn is_over(&mut self, why: &str) -> Option<News> {
        let description = self.description.take()?;
        let evidence = json!({ "was": description.state, "question": description.question });
        let (what, why) = (What::AgentGoesOn, why.to_owned());
        Some(News { what, condition: None, message: why.clone(), why, evidence, description: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AgentState::{Idle, Limited, Unknown, Waiting, Working};

    fn run() -> RunId {
        RunId::from_bytes([3; 16])
    }

    struct Story {
        agents: Agents,
        now: Now,
    }

    impl Story {
        fn new() -> Self {
            let now = Now { mono_ms: 1_000, wall_ms: 1_700_000_000_000 };
            Self { agents: Agents::default(), now }
        }

        fn step(&mut self, event: AgentEvent, description: Option<AgentNotified>) -> Option<News> {
            self.now.mono_ms += 100;
            self.now.wall_ms += 100;
            self.agents.step(run(), description, event, self.now)
        }

        /// The screen shows this now.
        fn sees(&mut self, state: AgentState, question: &str) -> Option<What> {
            let question = Some(question.to_owned()).filter(|text| !text.is_empty());
            let judged = AgentJudged { state, question, ..AgentJudged::default() };
            let changed_mono_ms = self.now.mono_ms + 90;
            let event = AgentEvent::Judged { judged: Some(judged), changed_mono_ms };
            self.step(event, None).map(|news| news.what)
        }

        fn accepts(&mut self, report: AgentReport) -> Option<What> {
            self.step(AgentEvent::Reported(report), None).map(|news| news.what)
        }

        fn view(&self) -> AgentView {
            self.agents.view(run()).expect("known").clone()
        }
    }

    /// T3: a question, another question, and the end are each notified once.
    #[test]
    fn a_question_is_told_once() {
        let mut story = Story::new();
        assert_eq!(story.sees(Working, ""), None);
        assert_eq!(story.sees(Waiting, "go on?"), Some(What::AgentWaiting));
        assert_eq!(story.sees(Waiting, "go on?"), None);
        assert_eq!(story.sees(Unknown, ""), None, "half drawn");
        assert_eq!(story.sees(Waiting, "go on?"), None, "the same question");
        assert_eq!(story.sees(Waiting, "delete it?"), Some(What::AgentWaiting));
        assert_eq!(story.sees(Working, ""), Some(What::AgentGoesOn));
        assert_eq!(story.sees(Working, ""), None);
        assert_eq!(story.sees(Waiting, "go on?"), Some(What::AgentWaiting), "asked again");
        assert_eq!(story.sees(Limited, "resets 3am"), Some(What::AgentLimited));
        assert_eq!(story.sees(Limited, "resets 3am, 2 min left"), None, "the same limit");
        assert_eq!(story.sees(Idle, ""), Some(What::AgentGoesOn));
    }

    /// T3: an agent's hooks and its screen word one question in several ways; it is notified once.
    #[test]
    fn a_question_that_is_reported_and_shown_is_told_once() {
        let mut story = Story::new();
        let asks = |question: &str| AgentReport {
            state: Some(Waiting),
            question: Some(question.to_owned()),
            ..AgentReport::default()
        };
        story.sees(Working, "");
        assert_eq!(story.accepts(asks("Allow Bash?")), Some(What::AgentWaiting));
        assert_eq!(story.accepts(asks("Your permission is needed")), None);
        assert_eq!(story.sees(Waiting, "Do you want to proceed?"), None);
        assert_eq!(story.accepts(asks("Your permission is needed")), None);
        assert_eq!(story.sees(Waiting, "Delete it?"), Some(What::AgentWaiting), "another one");
        assert_eq!(story.sees(Working, ""), Some(What::AgentGoesOn));
        assert_eq!(story.accepts(asks("Allow Bash?")), Some(What::AgentWaiting), "a new one");
    }

    /// T3: the end of a turn that a limit ended is no end of the limit.
    #[test]
    fn a_limit_is_not_over_because_the_turn_is() {
        let mut story = Story::new();
        story.sees(Working, "");
        assert_eq!(story.sees(Limited, "try again at 4:20"), Some(What::AgentLimited));
        let idle = AgentReport { state: Some(Idle), ..AgentReport::default() };
        assert_eq!(story.accepts(idle), None);
        assert_eq!(story.view().state, Limited);
    }

    /// T3: what the previous supervisor notified is not notified again.
    #[test]
    fn a_question_is_told_once_across_supervisors() {
        let mut story = Story::new();
        assert_eq!(story.sees(Waiting, "go on?"), Some(What::AgentWaiting));
        let description = story.agents.by_run[&run()].description.clone();
        let mut next = Story::new();
        let again = |question: &str| {
            let question = Some(question.to_owned());
            let judged = AgentJudged { state: Waiting, question, ..AgentJudged::default() };
            AgentEvent::Judged { judged: Some(judged), changed_mono_ms: 1 }
        };
        assert_eq!(next.step(again("go on?"), description.clone()), None);
        let mut next = Story::new();
        assert!(next.step(again("delete it?"), description.clone()).is_some());
        let mut next = Story::new();
        let gone = AgentEvent::Judged { judged: None, changed_mono_ms: 1 };
        assert_eq!(next.step(gone, description).map(|news| news.what), Some(What::AgentGoesOn));
    }

    #[test]
    fn one_that_asks_without_an_end_is_told_so_often_and_no_more() {
        let mut story = Story::new();
        let mut asked = |count: usize| {
            let description = |number: usize| story.sees(Waiting, &format!("{number}?"));
            let description = (0..count).filter_map(description).count();
            story.now.mono_ms += REPORTED_WITHIN_MS;
            description
        };
        assert_eq!([asked(100), asked(3), asked(100)], [REPORTED_MOST, 3, REPORTED_MOST]);
    }

    #[test]
    fn the_oldest_notification_stops_counting_after_its_time() {
        let mut story = Story::new();
        let first_ms = story.now.mono_ms + 100;
        for number in 0..REPORTED_MOST {
            assert!(story.sees(Waiting, &format!("{number}?")).is_some());
        }
        assert_eq!(story.sees(Waiting, "one too many?"), None);
        story.now.mono_ms = first_ms + REPORTED_WITHIN_MS - 100;
        assert_eq!(story.sees(Waiting, "again?"), Some(What::AgentWaiting));
    }

    /// T2: the same message, read again a day later, would end a day later.
    #[test]
    fn the_end_of_a_limit_is_the_one_that_was_read_first() {
        let mut story = Story::new();
        let mut read = |until_ms| {
            let judged = AgentJudged { state: Limited, until_ms, ..AgentJudged::default() };
            let event = AgentEvent::Judged { judged: Some(judged), changed_mono_ms: 1 };
            story.step(event, None);
            story.view().until_ms
        };
        assert_eq!(read(Some(100)), Some(100));
        assert_eq!(read(Some(200)), Some(100));
    }

    #[test]
    fn what_is_no_agent_leaves_nothing() {
        let mut story = Story::new();
        let nothing = AgentEvent::Judged { judged: None, changed_mono_ms: 1 };
        assert_eq!(story.step(nothing, None), None);
        assert!(story.agents.by_run.is_empty());
    }

    #[test]
    fn since_when_is_since_the_state_or_its_question_changed() {
        let mut story = Story::new();
        story.sees(Working, "");
        let since = story.view().since_ms;
        story.sees(Working, "");
        assert_eq!(story.view().since_ms, since);
        story.sees(Waiting, "a?");
        assert_ne!(story.view().since_ms, since);
    }

    /// T2: a report counts until the screen says something else; what comes with it is kept.
    #[test]
    fn reports_and_screens_take_turns() {
        let mut story = Story::new();
        story.sees(Idle, "");
        let report = |state| AgentReport { state: Some(state), ..AgentReport::default() };
        let session = Some("abc".to_owned());
        story.accepts(AgentReport { session: session.clone(), ..report(Working) });
        assert_eq!(story.view().state, Working);
        story.sees(Idle, "");
        assert_eq!(story.view().state, Working, "it says what it said before");
        assert_eq!(story.sees(Waiting, "ok?"), Some(What::AgentWaiting));
        assert_eq!(story.accepts(report(Idle)), None, "the question is still on the screen");
        assert_eq!(story.view().state, Waiting);
        assert_eq!(story.accepts(report(Working)), Some(What::AgentGoesOn));
        assert_eq!(story.sees(Idle, ""), None);
        let prompt = Some("do it".to_owned());
        story.accepts(AgentReport { prompt: prompt.clone(), ..AgentReport::default() });
        assert_eq!((story.view().state, story.view().session), (Idle, session));
        for _ in 0..30 {
            story.accepts(report(Working));
        }
        let known = story.agents.known(run());
        assert_eq!(known.reports.len(), REPORTS_MOST);
        assert!(known.reports.iter().all(|report| report.at_ms > 0));
    }
}
