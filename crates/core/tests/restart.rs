//! The restart tables of the source projects, on virtual time.

use ostler_core::ExitStatus;
use ostler_core::restart::{Cause, Death, ExitClass, Verdict, after, clear};
use ostler_model::{Preset, RestartPolicy as Policy, Tally, When};

const START: u64 = 1_700_000_000_000;

fn crash() -> Death {
    Death::by_itself(ExitStatus::Code(1))
}

/// Repeats a run of `ran_ms` that crashes; returns the delays, until it is over or broken.
fn waits(policy: &Policy, ran_ms: u64, most: usize) -> Vec<Verdict> {
    let mut tally = Tally::default();
    let mut now = START;
    let mut verdicts = Vec::new();
    while verdicts.len() < most {
        now += ran_ms;
        let verdict = after(&mut tally, policy, crash(), ran_ms, now);
        verdicts.push(verdict.clone());
        match verdict {
            Verdict::Restart { wait_ms } => now += wait_ms,
            Verdict::Over { .. } | Verdict::Broken { .. } => break,
        }
    }
    verdicts
}

fn seconds(verdicts: &[Verdict]) -> Vec<u64> {
    verdicts
        .iter()
        .filter_map(|verdict| match verdict {
            Verdict::Restart { wait_ms } => Some(wait_ms / 1_000),
            Verdict::Over { .. } | Verdict::Broken { .. } => None,
        })
        .collect()
}

/// First case: 1, 2, 4 … 256, 300, 300, for ever.
#[test]
fn goclaw_doubles_to_five_minutes_and_never_gives_up() {
    let verdicts = waits(&Policy::preset(Preset::Goclaw), 10, 200);
    assert_eq!(seconds(&verdicts)[..11], [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    assert_eq!(seconds(&verdicts).len(), 200);
}

/// A6: crashes at 0, 5, 10, 15 s restart after 1, 2, 4, 8 s; the one at 20 s disables it.
#[test]
fn openclawos_is_disabled_at_the_fifth() {
    let policy = Policy::preset(Preset::Openclawos);
    let mut tally = Tally::default();
    for (at, wait) in [(0, 1), (5, 2), (10, 4), (15, 8)] {
        let verdict = after(&mut tally, &policy, crash(), 1_000, START + at * 1_000);
        assert_eq!(verdict, Verdict::Restart { wait_ms: wait * 1_000 });
    }
    let verdict = after(&mut tally, &policy, crash(), 1_000, START + 20_000);
    assert!(matches!(verdict, Verdict::Broken { .. }), "{verdict:?}");
    assert!(tally.opened.is_some());
}

/// W2, W3: 1 s doubling to 30 s, five in 60 s open the breaker.
#[test]
fn ploinky_opens_at_five_in_a_minute() {
    let verdicts = waits(&Policy::preset(Preset::Ploinky), 10, 100);
    assert_eq!(seconds(&verdicts), [1, 2, 4, 8]);
    assert!(matches!(verdicts.last(), Some(Verdict::Broken { .. })));
    // Slow enough for the window: the delays grow to the maximum.
    let verdicts = waits(&Policy::preset(Preset::Ploinky), 20_000, 8);
    assert_eq!(seconds(&verdicts), [1, 2, 4, 8, 16, 30, 30, 30]);
    // A run over 60 s is healthy: always the first delay.
    let verdicts = waits(&Policy::preset(Preset::Ploinky), 60_001, 8);
    assert_eq!(seconds(&verdicts), [1; 8]);
}

/// W7: 10 s doubling to 5 min, reset after 10 min.
#[test]
fn crashloop_doubles_from_ten_seconds() {
    let policy = Policy::preset(Preset::Crashloop);
    assert_eq!(seconds(&waits(&policy, 10, 8)), [10, 20, 40, 80, 160, 300, 300, 300]);
    assert_eq!(seconds(&waits(&policy, 600_001, 3)), [10, 10, 10]);
}

/// W2: a loop that is too slow for the window counts too.
#[test]
fn a_slow_loop_opens_the_breaker_too() {
    let verdicts = waits(&Policy::default(), 100_000, 100);
    assert!(matches!(verdicts.last(), Some(Verdict::Broken { .. })));
    assert_eq!(verdicts.len(), 20);
}

/// W1: every code and every signal.
#[test]
fn the_exit_rule_for_all_codes_and_signals() {
    let policy = Policy::preset(Preset::Ploinky);
    let again = |death: Death| {
        matches!(after(&mut Tally::default(), &policy, death, 10, START), Verdict::Restart { .. })
    };
    for code in 0..256 {
        let expected = !(code == 0 || code == 2 || code >= 100);
        assert_eq!(again(Death::by_itself(ExitStatus::Code(code))), expected, "exit {code}");
        let unhealthy = Death { status: ExitStatus::Code(code), cause: Cause::Unhealthy };
        assert!(again(unhealthy), "a failed health check, exit {code}");
    }
    for signal in 1..65 {
        let expected = signal != 15 && signal != 2;
        assert_eq!(again(Death::by_itself(ExitStatus::Signal(signal))), expected, "{signal}");
    }
}

/// W1: exit 75 restarts at once and is free; a unit that does nothing else within a second waits.
#[test]
fn a_wish_to_be_restarted_has_no_penalty() {
    let policy = Policy::default();
    let mut tally = Tally::default();
    let wish = Death::by_itself(ExitStatus::Code(75));
    for _ in 0..100 {
        let verdict = after(&mut tally, &policy, wish, 1_000, START);
        assert_eq!(verdict, Verdict::Restart { wait_ms: 0 });
    }
    let quick: Vec<Verdict> =
        (0..3).map(|_| after(&mut tally, &policy, wish, 999, START)).collect();
    assert_eq!(seconds(&quick), [0, 1, 2]);
    assert_eq!(after(&mut tally, &policy, crash(), 1, START), Verdict::Restart { wait_ms: 1_000 });
}

#[test]
fn what_is_wrong_with_itself_is_not_tried_again() {
    let policy = Policy::default();
    for (code, class) in [
        (0, ExitClass::Clean),
        (2, ExitClass::Config),
        (78, ExitClass::Config),
        (100, ExitClass::Fatal),
    ] {
        let verdict = after(
            &mut Tally::default(),
            &policy,
            Death::by_itself(ExitStatus::Code(code)),
            1,
            START,
        );
        assert_eq!(verdict, Verdict::Over { class });
    }
    let never = Policy { when: When::Never, ..Policy::default() };
    for code in [0, 1, 75] {
        let verdict = after(
            &mut Tally::default(),
            &never,
            Death::by_itself(ExitStatus::Code(code)),
            1,
            START,
        );
        assert!(matches!(verdict, Verdict::Over { .. }));
    }
    let always = Policy { when: When::Always, ..Policy::default() };
    let verdict =
        after(&mut Tally::default(), &always, Death::by_itself(ExitStatus::Code(0)), 1, START);
    assert_eq!(verdict, Verdict::Restart { wait_ms: 1_000 });
}

/// W21: a unit that worked for ten seconds is restarted at once; then the delays begin, and the limit still counts.
#[test]
fn the_first_restart_after_good_work_is_immediate() {
    let policy = Policy::default();
    let mut tally = Tally::default();
    let mut verdict =
        |ran_ms, at_s: u64| after(&mut tally, &policy, crash(), ran_ms, START + at_s * 1_000);
    assert_eq!(verdict(1, 0), Verdict::Restart { wait_ms: 1_000 });
    assert_eq!(verdict(1, 1), Verdict::Restart { wait_ms: 2_000 });
    assert_eq!(verdict(9_999, 3_600), Verdict::Restart { wait_ms: 4_000 });
    assert_eq!(verdict(10_000, 7_200), Verdict::Restart { wait_ms: 0 });
    assert_eq!(verdict(1, 7_201), Verdict::Restart { wait_ms: 1_000 });
    assert_eq!(verdict(1, 7_202), Verdict::Restart { wait_ms: 2_000 });
    assert_eq!(verdict(10_000, 7_212), Verdict::Restart { wait_ms: 0 });
    assert!(matches!(verdict(10_000, 7_222), Verdict::Broken { .. }), "five within 60 s");
    for (_, preset) in Preset::ALL {
        let policy = Policy::preset(*preset);
        let verdict = after(&mut Tally::default(), &policy, crash(), 20_000, START);
        let wait_ms = policy.backoff.initial_ms;
        assert_eq!(verdict, Verdict::Restart { wait_ms }, "{preset:?} keeps its numbers");
    }
}

/// Failures expire, and a clock that was set back does not make old ones new.
#[test]
fn failures_decay() {
    let policy = Policy::preset(Preset::Ploinky);
    let mut tally = Tally::default();
    for _ in 0..4 {
        after(&mut tally, &policy, crash(), 10, START);
    }
    let verdict = after(&mut tally, &policy, crash(), 10, START + 60_000);
    assert!(matches!(verdict, Verdict::Restart { .. }), "{verdict:?}");
    let verdict = after(&mut tally, &policy, crash(), 10, START - 3_600_000);
    assert!(matches!(verdict, Verdict::Restart { .. }), "{verdict:?}");
    assert_eq!(tally.failures_ms, [START - 3_600_000]);
    clear(&mut tally);
    assert_eq!((tally.steps, tally.failures_ms.len(), tally.opened.clone()), (0, 0, None));
}
