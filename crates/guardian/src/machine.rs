//! The guardian's state machine. It reads no clock and makes no system call: times and events come in, actions go out.
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
//! The happy path. The guardian spawns a supervisor. The supervisor reports that it is ready, sends keep-alives, and
//! finally exits with 0. Then the guardian exits too.
//!
//! A crash: any other exit code, a signal, or a failed spawn. The guardian counts it, writes it to `crash.log`, waits
//! 1, 2, 4 … 256, 300, 300 s, and spawns the next supervisor, without limit. After a supervisor that ran for more than
//! five minutes, the next wait is 1 s again.
//!
//! The supervisor hangs: it sends no keep-alive within the watchdog timeout. The guardian kills it, which is a crash.
//! If the guardian itself was suspended meanwhile (or the machine was), the supervisor gets the whole timeout again:
//! its keep-alives may be lost, because the kernel queues few datagrams.
//!
//! The first supervisor refuses to start (another process owns the home, or a setting is wrong). The guardian reports
//! this to its caller and exits instead of trying again.
//!
//! The guardian is asked to stop. It forwards the signal, and the supervisor ends its runs. If the supervisor dies
//! instead, or is already dead, the guardian spawns another one for this purpose alone. If that fails too, the guardian
//! kills what is left itself. Every step has a time limit.
//!
//! The supervisor hands over (exit code 75 after it was ready). The guardian spawns the next one at once and counts
//! nothing. If the supervisor named a candidate executable, the guardian runs that on trial until it is ready. If the
//! candidate dies or takes too long, the guardian spawns the old executable again.

/// Exit code of a supervisor that asks for its successor.
pub const HAND_OVER: i32 = 75;
/// Exit code of a supervisor that refuses to start with this home or these settings.
pub const REFUSED: i32 = 78;

const FIRST_WAIT_MS: u64 = 1_000;
const LONGEST_WAIT_MS: u64 = 300_000;
const HEALTHY_AFTER_MS: u64 = 300_000;
/// How many supervisors are spawned only to stop all runs.
const LAST_TRIES: u32 = 2;

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A ready supervisor sends a keep-alive at least this often.
    pub watchdog_ms: u64,
    pub start_ms: u64,
    /// How long a candidate executable may take to become ready.
    pub trial_ms: u64,
    pub stop_ms: u64,
    /// Replaces every computed wait, for tests that crash often.
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
    /// The process could not be created. The field is the `errno`.
    NotSpawned(i32),
    /// The process was not a child of the guardian, and the kernel does not report its exit status.
    Unknown,
}

/// A notification from the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupervisorMessage {
    Ready,
    Alive,
    Stopping,
    /// The supervisor needs this much more time, counted from now.
    Extend {
        ms: u64,
    },
    /// The supervisor will hand over to another executable.
    Candidate,
}

/// The signal that asks the guardian to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    Terminate,
    Interrupt,
    Quit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Begin,
    /// A ready supervisor already runs; this process is its new guardian.
    TakeUp {
        ran_ms: u64,
    },
    Received(SupervisorMessage),
    Exited(Exit),
    StopAsked(StopSignal),
    /// The guardian did not run when it should have: it was suspended, or the machine was.
    StoodStill,
    Due,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Serve,
    /// Adopt the runs that are alive, end them, and exit.
    EndAll,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// If it fails, the result comes back as `Exited(NotSpawned)`.
    Spawn(Purpose),
    /// Count the crash, save the counters, and append to `crash.log`.
    Crash {
        ran_ms: u64,
        exit: Exit,
        why: Option<&'static str>,
        wait_ms: Option<u64>,
    },
    Forward(StopSignal),
    Kill,
    /// Kill every remaining descendant.
    Sweep,
    ReportReady,
    ReportRefused,
    /// Spawn the candidate from now on.
    Try,
    /// Make the candidate the current executable.
    Promote,
    /// Spawn the old executable again.
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
    /// The supervisor reported that it is stopping.
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
    /// `crashes_in_a_row` is the count of the previous guardian, or 0.
    pub fn new(limits: Limits, crashes_in_a_row: u32) -> Self {
        Self { limits, state: State::Over, crashes_in_a_row, was_ever_ready: false }
    }

    pub fn crashes_in_a_row(&self) -> u32 {
        self.crashes_in_a_row
    }

    /// When the machine wants an `Event::Due`.
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
                let killed = killed.or(Some("it did not stop in time"));
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
        let why = if up.is_ready { "it sent no keep-alive" } else { "it was not ready in time" };
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
            // An unrelated program on trial may well exit with 0.
            Exit::Code(0) => up.candidate != Candidate::OnTrial,
            Exit::Unknown => up.is_stopping,
            Exit::Code(_) | Exit::Signal { .. } | Exit::NotSpawned(_) => false,
        };
        if is_clean {
            out.push(Action::Finish { clean: true });
            return State::Over;
        }
        // If the exit code is unknown, a named candidate is enough: the candidate is on trial anyway.
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
