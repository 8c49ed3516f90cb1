//! The guardian's state machine, on virtual time.

use ostler_guardian::{
    Action, Event, Exit, HAND_OVER, Limits, Machine, Purpose, REFUSED, StopSignal,
    SupervisorMessage,
};

const KILLED: Exit = Exit::Signal { number: 9, dumped: false };

/// A machine with its clock, driven event by event.
struct Scenario {
    machine: Machine,
    now: u64,
}

impl Scenario {
    fn begun() -> Self {
        let mut scenario = Self { machine: Machine::new(Limits::default(), 0), now: 1_000 };
        assert_eq!(scenario.notify(Event::Begin), [Action::Spawn(Purpose::Serve)]);
        scenario
    }

    fn ready() -> Self {
        let mut scenario = Self::begun();
        assert_eq!(
            scenario.notify(Event::Received(SupervisorMessage::Ready)),
            [Action::ReportReady]
        );
        scenario
    }

    fn notify(&mut self, event: Event) -> Vec<Action> {
        self.machine.step(event, self.now)
    }

    /// Advances the clock to the machine's deadline and delivers `Due`.
    fn until_due(&mut self) -> Vec<Action> {
        self.now = self.machine.due().expect("the machine has a deadline");
        self.notify(Event::Due)
    }

    /// Runs a supervisor with keep-alives for `ran_ms`, then kills it. Returns the wait that follows.
    fn crash_after(&mut self, ran_ms: u64) -> u64 {
        self.notify(Event::Received(SupervisorMessage::Ready));
        let end = self.now + ran_ms;
        while end - self.now > 5_000 {
            self.now += 5_000;
            assert_eq!(self.notify(Event::Received(SupervisorMessage::Alive)), []);
        }
        self.now = end;
        let actions = self.notify(Event::Exited(KILLED));
        let [
            Action::Crash { ran_ms: description, exit: KILLED, why: None, wait_ms: Some(wait_ms) },
        ] = actions[..]
        else {
            panic!("not a plain crash: {actions:?}")
        };
        assert_eq!(description, ran_ms);
        wait_ms
    }

    /// Waits, and expects the next supervisor.
    fn wait_out(&mut self, wait_ms: u64) {
        assert_eq!(self.machine.due(), Some(self.now + wait_ms));
        self.now += wait_ms - 1;
        assert_eq!(self.notify(Event::Due), [], "the wait has not elapsed");
        self.now += 1;
        assert_eq!(self.notify(Event::Due), [Action::Spawn(Purpose::Serve)]);
    }
}

/// D3: the whole table, then 300 s without limit.
#[test]
fn waits_double_up_to_five_minutes() {
    let mut scenario = Scenario::begun();
    let table = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300];
    for seconds in table.into_iter().chain(std::iter::repeat_n(300, 1_000)) {
        let wait_ms = scenario.crash_after(100);
        assert_eq!(wait_ms, seconds * 1_000);
        scenario.wait_out(wait_ms);
    }
}

/// D3: a run longer than five minutes is healthy; exactly five minutes is not.
#[test]
fn after_a_long_life_the_restart_delay_begins_anew() {
    let mut scenario = Scenario::begun();
    for seconds in [1, 2, 4] {
        let wait_ms = scenario.crash_after(10);
        assert_eq!(wait_ms, seconds * 1_000);
        scenario.wait_out(wait_ms);
    }
    let wait_ms = scenario.crash_after(300_000);
    assert_eq!(wait_ms, 8_000);
    scenario.wait_out(wait_ms);
    let wait_ms = scenario.crash_after(300_001);
    assert_eq!(wait_ms, 1_000);
    scenario.wait_out(wait_ms);
    assert_eq!(scenario.crash_after(10), 2_000);
}

/// D2: every exit but 0 is a crash, and so is a failed spawn. Exit 0 is clean.
#[test]
fn only_zero_is_clean() {
    for exit in [
        Exit::Code(1),
        Exit::Code(HAND_OVER),
        Exit::Code(255),
        KILLED,
        Exit::NotSpawned(11),
        Exit::Unknown,
    ] {
        let mut scenario = Scenario::begun();
        let actions = scenario.notify(Event::Exited(exit));
        assert!(
            matches!(actions[..], [Action::Crash { wait_ms: Some(1_000), .. }]),
            "{exit:?} before it was ready: {actions:?}"
        );
    }
    let mut scenario = Scenario::ready();
    assert_eq!(scenario.notify(Event::Exited(Exit::Code(0))), [Action::Finish { clean: true }]);
    assert_eq!(scenario.machine.due(), None);
}

/// D1: a refusal of the first supervisor is reported; a later refusal is a crash like any other.
#[test]
fn a_refusal_ends_the_start_only_if_it_is_the_first() {
    let mut scenario = Scenario::begun();
    assert_eq!(
        scenario.notify(Event::Exited(Exit::Code(REFUSED))),
        [Action::ReportRefused, Action::Finish { clean: false }]
    );
    let mut scenario = Scenario::ready();
    let wait_ms = scenario.crash_after(10);
    scenario.wait_out(wait_ms);
    let actions = scenario.notify(Event::Exited(Exit::Code(REFUSED)));
    assert!(matches!(actions[..], [Action::Crash { wait_ms: Some(2_000), .. }]), "{actions:?}");
}

/// D9: a supervisor without keep-alives is killed, and the crash says why.
#[test]
fn silence_is_answered_by_kill() {
    let mut scenario = Scenario::ready();
    scenario.now += 9_000;
    assert_eq!(scenario.notify(Event::Received(SupervisorMessage::Alive)), []);
    assert_eq!(scenario.machine.due(), Some(scenario.now + 10_000));
    assert_eq!(scenario.until_due(), [Action::Kill]);
    assert_eq!(scenario.machine.due(), None, "the machine kills it only once");
    // A late keep-alive changes nothing.
    assert_eq!(scenario.notify(Event::Received(SupervisorMessage::Alive)), []);
    let actions = scenario.notify(Event::Exited(KILLED));
    assert!(
        matches!(actions[..], [Action::Crash { why: Some("it sent no keep-alive"), .. }]),
        "{actions:?}"
    );
}

/// D9: a suspended guardian does not take its own silence for the supervisor's.
#[test]
fn a_guardian_that_was_paused_gives_another_chance() {
    for paused_ms in [3_000, 12_000, 3_600_000] {
        let mut scenario = Scenario::ready();
        scenario.now += 9_000 + paused_ms;
        assert_eq!(scenario.notify(Event::StoodStill), []);
        assert_eq!(scenario.machine.due(), Some(scenario.now + 10_000));
        assert_eq!(scenario.until_due(), [Action::Kill], "{paused_ms}");
    }
}

/// D9: a killed supervisor gets no new deadline.
#[test]
fn a_killed_supervisor_gets_no_second_chance_after_a_pause() {
    let mut scenario = Scenario::ready();
    assert_eq!(scenario.until_due(), [Action::Kill]);
    assert_eq!(scenario.notify(Event::StoodStill), []);
    assert_eq!(scenario.machine.due(), None);
}

/// D9: a supervisor that never becomes ready is killed, unless it asks for more time.
#[test]
fn a_start_has_a_deadline_that_can_be_extended() {
    let mut scenario = Scenario::begun();
    assert_eq!(scenario.machine.due(), Some(scenario.now + 90_000));
    scenario.notify(Event::Received(SupervisorMessage::Extend { ms: 200_000 }));
    assert_eq!(scenario.machine.due(), Some(scenario.now + 200_000));
    assert_eq!(scenario.until_due(), [Action::Kill]);
}

/// D4: each signal is forwarded; the supervisor's clean exit ends the guardian.
#[test]
fn a_stop_is_forwarded_and_waited_for() {
    for asked in [StopSignal::Terminate, StopSignal::Interrupt, StopSignal::Quit] {
        let mut scenario = Scenario::ready();
        assert_eq!(scenario.notify(Event::StopAsked(asked)), [Action::Forward(asked)]);
        assert_eq!(scenario.notify(Event::StopAsked(asked)), [Action::Forward(asked)]);
        assert_eq!(scenario.notify(Event::Received(SupervisorMessage::Extend { ms: 75_000 })), []);
        assert_eq!(scenario.machine.due(), Some(scenario.now + 75_000));
        assert_eq!(scenario.notify(Event::Exited(Exit::Code(0))), [Action::Finish { clean: true }]);
    }
}

/// D4: during a wait, a supervisor is spawned at once to end the remaining runs.
#[test]
fn a_stop_during_a_restart_delay_ends_the_remaining_processes() {
    let mut scenario = Scenario::ready();
    scenario.crash_after(10);
    assert_eq!(
        scenario.notify(Event::StopAsked(StopSignal::Terminate)),
        [Action::Spawn(Purpose::EndAll)]
    );
    assert_eq!(scenario.notify(Event::Exited(Exit::Code(0))), [Action::Finish { clean: true }]);
}

/// D4: a supervisor that hangs or crashes while stopping is replaced twice; then the guardian sweeps.
#[test]
fn a_stop_that_fails_again_and_again_ends_with_a_sweep() {
    let mut scenario = Scenario::ready();
    let begun = scenario.now;
    scenario.notify(Event::StopAsked(StopSignal::Terminate));
    for _ in 0..2 {
        assert_eq!(scenario.until_due(), [Action::Kill]);
        let actions = scenario.notify(Event::Exited(KILLED));
        assert!(
            matches!(
                actions[..],
                [Action::Crash { wait_ms: None, .. }, Action::Spawn(Purpose::EndAll)]
            ),
            "{actions:?}"
        );
    }
    assert_eq!(scenario.until_due(), [Action::Kill]);
    let actions = scenario.notify(Event::Exited(KILLED));
    assert!(
        matches!(
            actions[..],
            [Action::Crash { .. }, Action::Sweep, Action::Finish { clean: false }]
        ),
        "{actions:?}"
    );
    assert!(scenario.now - begun <= 90_000);
}

/// D10: a hand-over is no crash and has no wait.
#[test]
fn a_hand_over_is_followed_at_once() {
    let mut scenario = Scenario::ready();
    assert_eq!(
        scenario.notify(Event::Exited(Exit::Code(HAND_OVER))),
        [Action::Spawn(Purpose::Serve)]
    );
    scenario.notify(Event::Received(SupervisorMessage::Ready));
    assert_eq!(scenario.crash_after(10), 1_000);
}

/// D10: a candidate that becomes ready is kept and is then an ordinary supervisor.
#[test]
fn a_candidate_that_answers_is_promoted() {
    let mut scenario = Scenario::ready();
    assert_eq!(scenario.notify(Event::Received(SupervisorMessage::Candidate)), []);
    assert_eq!(
        scenario.notify(Event::Exited(Exit::Code(HAND_OVER))),
        [Action::Try, Action::Spawn(Purpose::Serve)]
    );
    assert_eq!(
        scenario.notify(Event::Received(SupervisorMessage::Ready)),
        [Action::Promote, Action::ReportReady]
    );
    assert_eq!(scenario.crash_after(10), 1_000);
}

/// D10: after any other outcome, the guardian goes back at once; even exit 0 is no proof.
#[test]
fn a_candidate_that_does_not_answer_is_replaced_by_the_old_one() {
    for exit in [Exit::Code(0), Exit::Code(1), Exit::Code(HAND_OVER), Exit::Code(REFUSED), KILLED] {
        let mut scenario = Scenario::ready();
        scenario.notify(Event::Received(SupervisorMessage::Candidate));
        scenario.notify(Event::Exited(Exit::Code(HAND_OVER)));
        let actions = scenario.notify(Event::Exited(exit));
        assert!(
            matches!(
                actions[..],
                [
                    Action::Crash { wait_ms: None, .. },
                    Action::GoBack,
                    Action::Spawn(Purpose::Serve)
                ]
            ),
            "{exit:?}: {actions:?}"
        );
    }
    let mut scenario = Scenario::ready();
    scenario.notify(Event::Received(SupervisorMessage::Candidate));
    scenario.notify(Event::Exited(Exit::Code(HAND_OVER)));
    assert_eq!(scenario.machine.due(), Some(scenario.now + 15_000));
    assert_eq!(scenario.until_due(), [Action::Kill]);
}

/// D9: a new guardian continues with the counters of the old one.
#[test]
fn a_live_supervisor_is_taken_over() {
    let mut scenario = Scenario { machine: Machine::new(Limits::default(), 3), now: 1_000_000 };
    assert_eq!(scenario.notify(Event::TakeUp { ran_ms: 20 }), []);
    let actions = scenario.notify(Event::Exited(KILLED));
    assert!(
        matches!(actions[..], [Action::Crash { ran_ms: 20, wait_ms: Some(8_000), .. }]),
        "{actions:?}"
    );
    let mut scenario = Scenario { machine: Machine::new(Limits::default(), 3), now: 1_000_000 };
    scenario.notify(Event::TakeUp { ran_ms: 400_000 });
    let actions = scenario.notify(Event::Exited(KILLED));
    assert!(matches!(actions[..], [Action::Crash { wait_ms: Some(1_000), .. }]), "{actions:?}");
}

/// D9: if the kernel does not report the exit status, the supervisor's last notification decides.
#[test]
fn an_unknown_end_is_clean_only_if_it_was_announced() {
    let mut scenario = Scenario { machine: Machine::new(Limits::default(), 0), now: 1_000 };
    scenario.notify(Event::TakeUp { ran_ms: 20 });
    scenario.notify(Event::Received(SupervisorMessage::Stopping));
    assert_eq!(scenario.notify(Event::Exited(Exit::Unknown)), [Action::Finish { clean: true }]);
}

/// D9, D10: an adopted supervisor hands over like any other.
#[test]
fn an_unknown_end_is_a_hand_over_if_a_successor_was_named() {
    let mut scenario = Scenario { machine: Machine::new(Limits::default(), 0), now: 1_000 };
    scenario.notify(Event::TakeUp { ran_ms: 20 });
    scenario.notify(Event::Received(SupervisorMessage::Candidate));
    assert_eq!(
        scenario.notify(Event::Exited(Exit::Unknown)),
        [Action::Try, Action::Spawn(Purpose::Serve)]
    );
}

/// After any sequence of events, there is an end, a supervisor, or a deadline.
#[test]
fn no_history_leaves_the_guardian_idle() {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |most: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % most
    };
    for history in 0..20_000 {
        let mut scenario = Scenario::begun();
        let mut is_alive = true;
        for _ in 0..40 {
            scenario.now += next(20_000);
            let event = match next(12) {
                0 => Event::Received(SupervisorMessage::Ready),
                1 | 2 => Event::Received(SupervisorMessage::Alive),
                3 => Event::Received(SupervisorMessage::Stopping),
                4 => Event::Received(SupervisorMessage::Extend { ms: next(u64::MAX) }),
                5 => Event::Received(SupervisorMessage::Candidate),
                6 | 7 if is_alive => {
                    is_alive = false;
                    Event::Exited(match next(5) {
                        0 => Exit::Code(HAND_OVER),
                        1 => Exit::Code(REFUSED),
                        2 => Exit::Unknown,
                        3 => KILLED,
                        _ => Exit::Code(next(3) as i32),
                    })
                }
                8 if next(8) == 0 => Event::StopAsked(StopSignal::Terminate),
                _ => Event::Due,
            };
            let mut is_over = false;
            for action in scenario.notify(event) {
                match action {
                    Action::Spawn(_) => {
                        assert!(!is_alive, "{history}: two supervisors at once");
                        is_alive = true;
                    }
                    Action::Finish { .. } => is_over = true,
                    _ => {}
                }
            }
            if is_over {
                assert!(!is_alive, "{history}: finished with a supervisor alive");
                break;
            }
            assert!(
                is_alive || scenario.machine.due().is_some(),
                "{history}: no supervisor and no deadline"
            );
        }
    }
}
