//! The thread that judges screens. A screen is judged when it has not changed for a moment, and every 2 s while it
//! keeps changing. A screen without changes is not judged and does not wake the thread; but while a terminal hides what
//! is typed, as for a password, its mode is checked every 2 s, because a program need not write anything after a password.
//!
//! ```text
//!   output writer: screen changed ──► wait until it is still ──► judge ──► dispatcher, if the result differs
//!            (once, until judged)            or 2 s have passed
//! ```

use super::judge::{AgentSubject, Judge};
use crate::output::OutputState;
use ostler_model::ScreenText;
use ostler_model::{AgentJudged, AgentKnown, AgentState, RunId};
use ostler_os::{Detail, TreeSubject, Waker, look_at_trees};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::oneshot;

/// A screen counts as still after this time without a change.
const REST_MS: u64 = 300;
/// How often a screen that keeps changing is judged.
const FLOW_MS: u64 = 2_000;
/// How long a list of a run's processes is reused.
const TREE_MS: u64 = 2_000;
/// Limits of texts that people read.
const QUESTION_MOST: usize = 2_000;
const CHOICES_MOST: usize = 20;
const EVIDENCE_MOST: usize = 500;

pub(super) type Reply = oneshot::Sender<AgentKnown>;

pub(super) enum WatchCommand {
    Add(RunId, Box<Watched>),
    /// The unit's declaration changed.
    Name {
        run: RunId,
        agent: Option<String>,
        argv: Vec<String>,
    },
    Remove(RunId),
    /// The screen changed.
    Drawn(RunId),
    /// A caller wants the state now.
    Look(RunId, Reply),
}

/// The judgement of a screen changed, or a caller asked for it.
pub(super) struct News {
    pub(super) run: RunId,
    pub(super) judged: Option<AgentJudged>,
    pub(super) changed_mono_ms: u64,
    pub(super) reply: Option<Reply>,
}

/// Signals that a screen changed: one message until the screen has been judged.
#[derive(Debug, Default)]
pub(crate) struct DrawSignal {
    is_reported: AtomicBool,
    orders: OnceLock<(RunId, mpsc::Sender<WatchCommand>)>,
}

impl std::fmt::Debug for WatchCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Order")
    }
}

impl DrawSignal {
    pub(crate) fn notify(&self) {
        if let Some((run, orders)) = self.orders.get()
            && !self.is_reported.swap(true, Ordering::AcqRel)
        {
            let _ = orders.send(WatchCommand::Drawn(*run));
        }
    }
}

/// One terminal.
pub(super) struct Watched {
    pub(super) output: Arc<OutputState>,
    pub(super) agent: Option<String>,
    pub(super) argv: Vec<String>,
    pub(super) subject: TreeSubject,
    /// Since when there is something to judge.
    pub(super) since_ms: Option<u64>,
    pub(super) due_ms: Option<u64>,
    pub(super) tree: Option<(u64, Vec<Vec<String>>)>,
    /// `None` before the first judgement.
    pub(super) last: Option<Option<AgentJudged>>,
}

/// The thread starts with the first run that has a terminal.
pub(crate) struct ScreenWatch {
    judge: Arc<dyn Judge>,
    dispatcher: Waker,
    orders: Option<mpsc::Sender<WatchCommand>>,
    sender: mpsc::Sender<News>,
    pub(super) news: mpsc::Receiver<News>,
}

impl ScreenWatch {
    pub(crate) fn new(judge: Arc<dyn Judge>, dispatcher: Waker) -> Self {
        let (sender, news) = mpsc::channel();
        Self { judge, dispatcher, orders: None, sender, news }
    }

    pub(super) fn add(&mut self, run: RunId, watched: Watched) {
        if self.orders.is_none() {
            self.orders = self.start().ok();
        }
        let Some(orders) = &self.orders else { return };
        let output = Arc::clone(&watched.output);
        let _ = orders.send(WatchCommand::Add(run, Box::new(watched)));
        if let Some(draw_signal) = output.draw_signal() {
            let _ = draw_signal.orders.set((run, orders.clone()));
            // Output that arrived before the signal was connected.
            if output.written() > 0 {
                draw_signal.notify();
            }
        }
    }

    /// The profile for a program that is not running.
    pub(super) fn profile(&self, agent: Option<&str>, argv: &[String]) -> Option<String> {
        self.judge.profile(AgentSubject { agent, argv, tree: &mut Vec::new })
    }

    /// False if the thread does not run.
    pub(super) fn order(&self, order: WatchCommand) -> bool {
        self.orders.as_ref().is_some_and(|orders| orders.send(order).is_ok())
    }

    fn start(&self) -> std::io::Result<mpsc::Sender<WatchCommand>> {
        let (orders, inbox) = mpsc::channel();
        let worker = Worker {
            judge: Arc::clone(&self.judge),
            inbox,
            news: self.sender.clone(),
            dispatcher: self.dispatcher.clone(),
            watched: HashMap::new(),
        };
        std::thread::Builder::new()
            .name("screens".to_owned())
            .stack_size(1 << 20)
            .spawn(move || worker.run())?;
        Ok(orders)
    }
}

struct Worker {
    judge: Arc<dyn Judge>,
    inbox: mpsc::Receiver<WatchCommand>,
    news: mpsc::Sender<News>,
    dispatcher: Waker,
    watched: HashMap<RunId, Box<Watched>>,
}

impl Worker {
    fn run(mut self) {
        loop {
            let due = self.watched.values().filter_map(|watched| watched.due_ms).min();
            let order = match due {
                None => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due_ms) => {
                    let wait_ms = due_ms.saturating_sub(ostler_os::mono_ms());
                    self.inbox.recv_timeout(Duration::from_millis(wait_ms))
                }
            };
            match order {
                Ok(order) => self.take(order),
                Err(RecvTimeoutError::Timeout) => self.look_at_due(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn take(&mut self, order: WatchCommand) {
        match order {
            WatchCommand::Add(run, watched) => {
                self.watched.insert(run, watched);
            }
            WatchCommand::Name { run, agent, argv } => {
                if let Some(watched) = self.watched.get_mut(&run) {
                    (watched.agent, watched.argv) = (agent, argv);
                    watched.draw_signal(ostler_os::mono_ms());
                }
            }
            WatchCommand::Remove(run) => {
                self.watched.remove(&run);
            }
            WatchCommand::Drawn(run) => {
                if let Some(watched) = self.watched.get_mut(&run) {
                    watched.draw_signal(ostler_os::mono_ms());
                }
            }
            WatchCommand::Look(run, reply) => {
                if let Some(watched) = self.watched.get_mut(&run) {
                    watched.tree = None;
                }
                self.look(run, Some(reply));
            }
        }
    }

    fn look_at_due(&mut self) {
        let now_ms = ostler_os::mono_ms();
        let is_due = |watched: &Watched| watched.due_ms.is_some_and(|due| due <= now_ms);
        let due: Vec<RunId> = self
            .watched
            .iter()
            .filter(|(_, watched)| is_due(watched))
            .map(|(run, _)| *run)
            .collect();
        for run in due {
            let later = |watched: &mut Box<Watched>| {
                watched.moved_on(now_ms).or_else(|| watched.still_hides_input(now_ms))
            };
            let moved = self.watched.get_mut(&run).and_then(later);
            match (moved, self.watched.get_mut(&run)) {
                (Some(due_ms), Some(watched)) => watched.due_ms = Some(due_ms),
                (Some(_), None) | (None, _) => self.look(run, None),
            }
        }
    }

    fn look(&mut self, run: RunId, reply: Option<Reply>) {
        let Some(watched) = self.watched.get_mut(&run) else {
            if let Some(reply) = reply {
                self.notify(News { run, judged: None, changed_mono_ms: 0, reply: Some(reply) });
            }
            return;
        };
        let now_ms = ostler_os::mono_ms();
        (watched.since_ms, watched.due_ms) = (None, None);
        if let Some(draw_signal) = watched.output.draw_signal() {
            // Reset before the look, so that a later change triggers another look.
            draw_signal.is_reported.store(false, Ordering::Release);
        }
        let changed_mono_ms = watched.output.last_mono_ms().unwrap_or(now_ms);
        let (judged, looked_ms) = watched.judged(&*self.judge, now_ms);
        let judged = judged.map(shortened);
        if let Some(looked_ms) = looked_ms.filter(|looked_ms| *looked_ms < now_ms) {
            // An agent may have started or exited since its processes were listed.
            watched.since_ms = Some(now_ms);
            watched.due_ms = Some(looked_ms + TREE_MS);
        } else if watched.output.hides_input() {
            watched.due_ms = Some(now_ms + FLOW_MS);
        }
        let is_same = watched.last.as_ref().is_some_and(|last| says_same(last, &judged));
        // A turn may be too short to be seen, so each change to idle is reported.
        let rests = judged.as_ref().is_some_and(|judged| judged.state == AgentState::Idle);
        if !is_same || rests || reply.is_some() {
            watched.last = Some(judged.clone());
            self.notify(News { run, judged, changed_mono_ms, reply });
        }
    }

    fn notify(&self, news: News) {
        if self.news.send(news).is_ok() {
            self.dispatcher.wake();
        }
    }
}

impl Watched {
    fn draw_signal(&mut self, now_ms: u64) {
        if self.since_ms.is_none() {
            self.since_ms = Some(now_ms);
            self.due_ms = Some(now_ms + REST_MS);
        }
    }

    /// When to judge instead, if the screen keeps changing.
    fn moved_on(&self, now_ms: u64) -> Option<u64> {
        let since_ms = self.since_ms?;
        let rests_ms = self.output.last_mono_ms()? + REST_MS;
        let due_ms = rests_ms.min(since_ms + FLOW_MS);
        (due_ms > now_ms).then_some(due_ms)
    }

    /// When to check again, if nothing is to be judged and the terminal still hides what is typed.
    fn still_hides_input(&self, now_ms: u64) -> Option<u64> {
        (self.since_ms.is_none() && self.output.hides_input()).then_some(now_ms + FLOW_MS)
    }

    /// Also returns when the processes were listed, if the judgement depends on them.
    fn judged(&mut self, judge: &dyn Judge, now_ms: u64) -> (Option<AgentJudged>, Option<u64>) {
        let Self { agent, argv, subject, tree, output, .. } = self;
        let mut looked_ms = None;
        let mut look = || {
            let known = tree.take().filter(|(at_ms, _)| now_ms < at_ms + TREE_MS);
            let (at_ms, words) = tree.insert(known.unwrap_or_else(|| (now_ms, words_of(subject))));
            looked_ms = Some(*at_ms);
            words.clone()
        };
        let subject = AgentSubject { agent: agent.as_deref(), argv, tree: &mut look };
        let profile = judge.profile(subject);
        let screen: Option<ScreenText> = output.screen_text();
        let judged = screen.and_then(|screen| judge.judge(profile.as_deref(), &screen));
        (judged, looked_ms)
    }
}

/// Ignores the evidence, which may change all the time.
fn says_same(one: &Option<AgentJudged>, other: &Option<AgentJudged>) -> bool {
    let meant = |judged: &AgentJudged| AgentJudged { evidence: String::new(), ..judged.clone() };
    one.as_ref().map(meant) == other.as_ref().map(meant)
}

fn shortened(judged: AgentJudged) -> AgentJudged {
    AgentJudged {
        question: judged.question.map(|question| cut(&question, QUESTION_MOST)),
        choices: judged
            .choices
            .iter()
            .take(CHOICES_MOST)
            .map(|choice| cut(choice, EVIDENCE_MOST))
            .collect(),
        evidence: cut(&judged.evidence, EVIDENCE_MOST),
        ..judged
    }
}

pub(super) fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// The command line of each process of a run.
fn words_of(subject: &TreeSubject) -> Vec<Vec<String>> {
    let seen = look_at_trees(std::slice::from_ref(subject), Detail::Processes);
    let processes = seen.into_iter().flatten().flat_map(|tree| tree.processes);
    processes
        .map(|process| process.command.split_whitespace().map(str::to_owned).collect())
        .collect()
}
