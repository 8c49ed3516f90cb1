//! Twenty agents, watched for thirty days of virtual time with every kind of failure.
//!
//! The promises are measured like this: a dead agent is started by the second tick that sees it dead. An agent that
//! hangs with work is restarted by the second tick after the evidence is complete: its heartbeat is very stale (or,
//! without one, it has shown no activity for as long), work has waited for the stale time, and the ticks have been
//! regular since the last gap. The default waits are shorter than a tick, so the ladder climbs wake, interrupt, restart
//! on three ticks. A guard, a mass death, a triage that holds back, or a failed observation stops that clock.
//! `OSTLER_TOWNS=n` sets the number of simulations; the seed of each is its number.

mod agent;
mod town;

use town::{Report, Town};

/// P3, P4, P12: no healthy agent is ended, dead and hung agents come back, and triage is asked rarely.
#[test]
fn thirty_days_of_a_town() {
    let towns: u64 = std::env::var("OSTLER_TOWNS")
        .map_or(4, |text| text.parse().expect("OSTLER_TOWNS is a number"));
    let watch = |first: u64| -> Vec<Report> {
        (first..towns).step_by(2).map(|seed| Town::new(seed).thirty_days()).collect()
    };
    let reports = std::thread::scope(|scope| {
        let even = scope.spawn(|| watch(0));
        let mut reports = watch(1);
        reports.extend(even.join().expect("no promise is broken"));
        reports
    });
    assert!(reports.iter().any(|report| report.mass_deaths > 0));
    for report in reports {
        let Report { deaths, hangs, restarts, ticks, triage_ticks, .. } = report;
        let description = format!("seed {}: {report:?}", report.seed);
        assert!(deaths > 150 && hangs > 15 && restarts > 150, "{description}");
        assert!(triage_ticks * 100 < ticks, "{description}");
        assert!(report.begun - report.ended <= 20, "{description}");
    }
}
