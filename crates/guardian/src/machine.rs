//! What the guardian decides. It has no clock and makes no call: time and events come in, actions go out.
//!
//! ```text
//!              ┌──────────── the wait is over ─────────────┐
//!              ▼                                           │
//!   ───────► Up ──crash──► (counted, crash.log) ──────► Waiting
//!             │ │                                          │
//!    exit 0   │ │ TERM, INT, QUIT                          │ TERM, INT, QUIT
//!             │ ▼                                          │
//!             │ Stopping ◄─────────────────────────────────┘
//!             ▼   │ exit 0
//!           Over ◄┘
//! ```
//!
//! The happy path. A supervisor is spawned, says that it is ready, gives signs of life, and one day
//! exits with 0: then the guardian's work is done.
//!
//! A crash: any other exit, a signal, a spawn that failed. It is counted and written down, then waited
//! for 1, 2, 4 … 256, 300, 300 s, then the next one is spawned, for ever. A supervisor that lived for
//! more than five minutes makes the next wait the first again.
//!
//! The supervisor hangs: no sign of life for as long as the watchdog says. It is killed, which is a
//! crash. If the guardian itself stood still meanwhile (it was stopped, or the machine was), the supervisor gets the
//! whole time again: its signs of life may be lost, because the kernel queues few of them.
//!
//! It refuses to start the very first time (the home is another's, a setting is wrong): whoever started
//! us is told, and nobody waits for a thing that will not come.
//!
//! We are asked to stop. The signal is passed on and the supervisor ends its runs. If it dies instead,
//! or is dead already, another is spawned for this purpose alone; when that fails too, we end what is
//! left ourselves. All of it is bounded.
//!
//! It hands over (exit 75 after it was ready): the next one is spawned at once and nothing is counted.
//! If it named another executable, that one is on trial until it is ready; if it dies or takes too
//! long, the old executable is spawned again.

/// The exit code with which a supervisor asks for its successor.
pub const HAND_OVER: i32 = 75;
/// The exit code of a supervisor that will not start like this.
pub const REFUSED: i32 = 78;

const FIRST_WAIT_MS: u64 = 1_000;
const LONGEST_WAIT_MS: u64 = 300_000;
const HEALTHY_AFTER_MS: u64 = 300_000;
/// How often a supervisor is spawned for the one purpose of ending everything.
const LAST_TRIES: u32 = 2;

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A supervisor that is ready gives a sign of life within this time.
    pub watchdog_ms: u64,
    pub start_ms: u64,
    /// A new executable has so long to be ready.
    pub trial_ms: u64,
    pub stop_ms: u64,
    /// Every wait is so long instead of what is usual: for tests that crash often.
    pub wait_ms: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            watchdog_ms: 10_000,
            start_ms: 90_000,
            trial_ms: 15_000,
            stop_ms: 30_000,
            wait_ms: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal {
        number: i32,
        dumped: bool,
    },
    /// The process could not be made.
    NotSpawned(i32),
    /// It was not our child, and the kernel does not tell.
    Unknown,
}

/// What the supervisor says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupervisorMessage {
    Ready,
    Alive,
    Stopping,
    /// It needs this much longer from now on.
    Extend {
        ms: u64,
    },
    /// It will hand over to another executable.
    Candidate,
}

/// The signal by which we are asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    Terminate,
    Interrupt,
    Quit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Begin,
    /// A supervisor lives already and is ready; we are its new guardian.
    TakeUp {
        ran_ms: u64,
    },
    Received(SupervisorMessage),
    Exited(Exit),
    StopAsked(StopSignal),
    /// The guardian did not run when it should have: it was stopped, or the machine was.
    StoodStill,
    Due,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Serve,
    /// Take up what lives, end it, and exit.
    EndAll,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The outcome of a failed one comes back as `Exited(NotSpawned)`.
    Spawn(Purpose),
    /// Count it, save it, write it down.
    Crash {
        ran_ms: u64,
        exit: Exit,
        why: Option<&'static str>,
        wait_ms: Option<u64>,
    },
    Forward(StopSignal),
    Kill,
    /// End whatever is still our descendant.
    Sweep,
    ReportReady,
    ReportRefused,
    /// Spawn the candidate from now on.
    Try,
    /// The candidate has proved itself.
    Promote,
    /// Back to the old executable.
    GoBack,
    Finish {
        clean: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Candidate {
    None,
    Named,
    OnTrial,
}

#[derive(Clone, Copy, Debug)]
struct RunningSupervisor {
    since: u64,
    is_ready: bool,
    /// It said that it is about to end.
    is_stopping: bool,
    due: u64,
    killed: Option<&'static str>,
    candidate: Candidate,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Up(RunningSupervisor),
    Waiting { until: u64 },
    Stopping { since: u64, kill_at: u64, tries: u32, killed: Option<&'static str> },
    Over,
}

#[derive(Debug)]
pub struct Machine {
    limits: Limits,
    state: State,
    crashes_in_a_row: u32,
    was_ever_ready: bool,
}

impl Machine {
    /// `crashes_in_a_row` as a predecessor counted them.
    pub fn new(limits: Limits, crashes_in_a_row: u32) -> Self {
        Self { limits, state: State::Over, crashes_in_a_row, was_ever_ready: false }
    }

    pub fn crashes_in_a_row(&self) -> u32 {
        self.crashes_in_a_row
    }

    /// When `Due` is to come.
    pub fn due(&self) -> Option<u64> {
        match self.state {
            State::Up(up) => Some(up.due).filter(|due| *due < u64::MAX),
            State::Waiting { until } => Some(until),
            State::Stopping { kill_at, .. } => Some(kill_at).filter(|due| *due < u64::MAX),
            State::Over => None,
        }
    }

    pub fn step(&mut self, event: Event, now: u64) -> Vec<Action> {
        let mut out = Vec::new();
        self.state = match (self.state, event) {
            (_, Event::Begin) => self.spawn(Candidate::None, now, &mut out),
            (_, Event::TakeUp { ran_ms }) => {
                self.was_ever_ready = true;
                State::Up(RunningSupervisor {
                    since: now.saturating_sub(ran_ms),
                    is_ready: true,
                    is_stopping: false,
                    due: now + self.limits.watchdog_ms,
                    killed: None,
                    candidate: Candidate::None,
                })
            }
            (State::Up(up), Event::Received(word)) => {
                State::Up(self.receive(up, word, now, &mut out))
            }
            (State::Up(up), Event::Exited(exit)) => self.ended(up, exit, now, &mut out),
            (State::Up(up), Event::StopAsked(asked)) => {
                out.push(Action::Forward(asked));
                State::Stopping {
                    since: up.since,
                    kill_at: now + self.limits.stop_ms,
                    tries: 0,
                    killed: up.killed,
                }
            }
            (State::Up(up), Event::StoodStill) => State::Up(RunningSupervisor {
                due: up.due.max(now + self.limits.watchdog_ms),
                ..up
            }),
            (State::Up(up), Event::Due) => State::Up(self.overdue(up, now, &mut out)),
            (State::Waiting { until }, Event::Due) if now >= until => {
                self.spawn(Candidate::None, now, &mut out)
            }
            (State::Waiting { .. }, Event::StopAsked(_)) => self.last_try(1, now, &mut out),
            (
                State::Waiting { until },
                Event::Due | Event::StoodStill | Event::Received(_) | Event::Exited(_),
            ) => State::Waiting { until },
            (State::Stopping { .. }, Event::Exited(exit)) => self.stopped(exit, now, &mut out),
            (State::Stopping { since, kill_at, tries, killed }, Event::Received(word)) => {
                let kill_at = match word {
                    SupervisorMessage::Extend { ms } => now.saturating_add(ms).max(kill_at),
                    SupervisorMessage::Ready
                    | SupervisorMessage::Alive
                    | SupervisorMessage::Stopping
                    | SupervisorMessage::Candidate => kill_at,
                };
                State::Stopping { since, kill_at, tries, killed }
            }
            (State::Stopping { since, kill_at, tries, killed }, Event::StoodStill) => {
                let kill_at = kill_at.max(now + self.limits.watchdog_ms);
                State::Stopping { since, kill_at, tries, killed }
            }
            (State::Stopping { since, kill_at, tries, killed }, Event::StopAsked(asked)) => {
                out.push(Action::Forward(asked));
                State::Stopping { since, kill_at, tries, killed }
            }
            (State::Stopping { since, kill_at, tries, killed }, Event::Due) if now >= kill_at => {
                out.push(Action::Kill);
                let killed = killed.or(Some("it did not end in the time it has for it"));
                State::Stopping { since, kill_at: u64::MAX, tries, killed }
            }
            (stopping @ State::Stopping { .. }, Event::Due) => stopping,
            (
                State::Over,
                Event::Received(_)
                | Event::Exited(_)
                | Event::StopAsked(_)
                | Event::StoodStill
                | Event::Due,
            ) => State::Over,
        };
        out
    }

    fn spawn(&self, candidate: Candidate, now: u64, out: &mut Vec<Action>) -> State {
        out.push(Action::Spawn(Purpose::Serve));
        let allowed = match candidate {
            Candidate::OnTrial => self.limits.trial_ms,
            Candidate::None | Candidate::Named => self.limits.start_ms,
        };
        State::Up(RunningSupervisor {
            since: now,
            is_ready: false,
            is_stopping: false,
            due: now + allowed,
            killed: None,
            candidate,
        })
    }

    fn last_try(&self, tries: u32, now: u64, out: &mut Vec<Action>) -> State {
        out.push(Action::Spawn(Purpose::EndAll));
        State::Stopping { since: now, kill_at: now + self.limits.stop_ms, tries, killed: None }
    }

    fn receive(
        &mut self,
        up: RunningSupervisor,
        word: SupervisorMessage,
        now: u64,
        out: &mut Vec<Action>,
    ) -> RunningSupervisor {
        let alive = now + self.limits.watchdog_ms;
        match word {
            SupervisorMessage::Ready if !up.is_ready => {
                self.was_ever_ready = true;
                if up.candidate == Candidate::OnTrial {
                    out.push(Action::Promote);
                }
                out.push(Action::ReportReady);
                RunningSupervisor { is_ready: true, due: alive, candidate: Candidate::None, ..up }
            }
            SupervisorMessage::Ready | SupervisorMessage::Alive
                if up.is_ready && up.killed.is_none() =>
            {
                RunningSupervisor { due: alive.max(up.due), ..up }
            }
            SupervisorMessage::Extend { ms } if up.killed.is_none() => {
                RunningSupervisor { due: now.saturating_add(ms).max(up.due), ..up }
            }
            SupervisorMessage::Stopping => RunningSupervisor { is_stopping: true, ..up },
            SupervisorMessage::Candidate => RunningSupervisor { candidate: Candidate::Named, ..up },
            SupervisorMessage::Ready
            | SupervisorMessage::Alive
            | SupervisorMessage::Extend { .. } => up,
        }
    }

    fn overdue(&self, up: RunningSupervisor, now: u64, out: &mut Vec<Action>) -> RunningSupervisor {
        if now < up.due {
            return up;
        }
        out.push(Action::Kill);
        let why = if up.is_ready { "it gave no sign of life" } else { "it was not ready in time" };
        RunningSupervisor { due: u64::MAX, killed: up.killed.or(Some(why)), ..up }
    }

    fn ended(
        &mut self,
        up: RunningSupervisor,
        exit: Exit,
        now: u64,
        out: &mut Vec<Action>,
    ) -> State {
        let is_clean = match exit {
            // A program on trial that has nothing to do with us may well exit with 0.
            Exit::Code(0) => up.candidate != Candidate::OnTrial,
            Exit::Unknown => up.is_stopping,
            Exit::Code(_) | Exit::Signal { .. } | Exit::NotSpawned(_) => false,
        };
        if is_clean {
            out.push(Action::Finish { clean: true });
            return State::Over;
        }
        // Where nobody tells how it ended, that it named its successor is enough: that one is on trial.
        let hands_over = match exit {
            Exit::Code(code) => code == HAND_OVER && up.is_ready,
            Exit::Unknown => up.candidate == Candidate::Named,
            Exit::Signal { .. } | Exit::NotSpawned(_) => false,
        };
        if hands_over {
            return match up.candidate {
                Candidate::Named => {
                    out.push(Action::Try);
                    self.spawn(Candidate::OnTrial, now, out)
                }
                Candidate::None | Candidate::OnTrial => self.spawn(Candidate::None, now, out),
            };
        }
        if exit == Exit::Code(REFUSED) && !self.was_ever_ready {
            out.push(Action::ReportRefused);
            out.push(Action::Finish { clean: false });
            return State::Over;
        }
        let ran_ms = now.saturating_sub(up.since);
        if up.candidate == Candidate::OnTrial {
            out.push(Action::Crash { ran_ms, exit, why: up.killed, wait_ms: None });
            out.push(Action::GoBack);
            return self.spawn(Candidate::None, now, out);
        }
        if ran_ms > HEALTHY_AFTER_MS {
            self.crashes_in_a_row = 0;
        }
        let doublings = self.crashes_in_a_row.min(16);
        let usual = (FIRST_WAIT_MS << doublings).min(LONGEST_WAIT_MS);
        let wait_ms = self.limits.wait_ms.unwrap_or(usual);
        self.crashes_in_a_row = self.crashes_in_a_row.saturating_add(1);
        out.push(Action::Crash { ran_ms, exit, why: up.killed, wait_ms: Some(wait_ms) });
        State::Waiting { until: now + wait_ms }
    }

    fn stopped(&mut self, exit: Exit, now: u64, out: &mut Vec<Action>) -> State {
        let State::Stopping { since, tries, killed, .. } = self.state else { return self.state };
        if matches!(exit, Exit::Code(0) | Exit::Unknown) {
            out.push(Action::Finish { clean: true });
            return State::Over;
        }
        let ran_ms = now.saturating_sub(since);
        out.push(Action::Crash { ran_ms, exit, why: killed, wait_ms: None });
        if tries < LAST_TRIES {
            return self.last_try(tries + 1, now, out);
        }
        out.push(Action::Sweep);
        out.push(Action::Finish { clean: false });
        State::Over
    }
}
