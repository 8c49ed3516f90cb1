//! Waits for a unit's reports and judges its silence.

use crate::apps::AppReport;
use crate::checks::prober::Probed;
use ostler_core::heartbeat::Judgement;
use ostler_core::unit::UnitEvent;
use ostler_model::HeartbeatSpec;
use std::time::Duration;
use tokio::time::timeout;

/// Each step has its own timeout and its own error.
pub(crate) async fn until_ready(
    report: &AppReport,
    register_ms: Option<u64>,
    ready_ms: u64,
) -> UnitEvent {
    let run = report.run;
    if let Some(register_ms) = register_ms
        && !until(report, register_ms, |report| report.is_registered() || report.is_ready()).await
    {
        let why = format!("app.register not called within {register_ms} ms");
        return UnitEvent::NotReady { run, why };
    }
    if until(report, ready_ms, AppReport::is_ready).await {
        return UnitEvent::Ready { run };
    }
    let why = match register_ms {
        Some(_) => format!("registered, but app.ready not called within {ready_ms} ms"),
        None => format!("READY=1 not received within {ready_ms} ms"),
    };
    UnitEvent::NotReady { run, why }
}

/// Returns false on timeout. The unit may extend the timeout.
async fn until(report: &AppReport, most_ms: u64, is_so: impl Fn(&AppReport) -> bool) -> bool {
    let due = ostler_os::mono_ms().saturating_add(most_ms);
    loop {
        let change = report.change();
        if is_so(report) {
            return true;
        }
        let left = due.max(report.extended_mono_ms()).saturating_sub(ostler_os::mono_ms());
        if left == 0 {
            return false;
        }
        let _ = timeout(Duration::from_millis(left), change).await;
    }
}

/// Watches heartbeats until the unit counts as dead. A unit that was silent and beats again is reported as well.
pub(crate) async fn watch(
    report: &AppReport,
    spec: HeartbeatSpec,
    notify: &(dyn Fn(Probed) + Sync),
) {
    let run = report.run;
    let say = |event| notify(Probed { unit: report.unit.clone(), event });
    // Earlier silence does not count: readiness has its own timeout.
    report.begin();
    let mut is_unhealthy = false;
    loop {
        let change = report.change();
        let (is_late, silent_ms, until_ms) = match report.judge(&spec) {
            Judgement::Healthy { until_ms } => (false, 0, until_ms),
            Judgement::Unhealthy { silent_ms, until_ms } => (true, silent_ms, until_ms),
            Judgement::Dead { silent_ms, missed } => {
                if !is_unhealthy {
                    say(UnitEvent::Degraded { run, why: silence(silent_ms, spec.timeout_ms) });
                }
                let why = format!(
                    "{missed} heartbeats missed: silent for {silent_ms} ms, expected every {} ms",
                    spec.interval_ms
                );
                return say(UnitEvent::Unhealthy { run, why });
            }
        };
        if is_late && !is_unhealthy {
            say(UnitEvent::Degraded { run, why: silence(silent_ms, spec.timeout_ms) });
        } else if !is_late && is_unhealthy {
            say(UnitEvent::Recovered { run });
        }
        is_unhealthy = is_late;
        let left = until_ms.saturating_sub(ostler_os::mono_ms());
        // While the unit is unhealthy, the next heartbeat should be noticed at once.
        let left = if is_unhealthy { left.min(spec.interval_ms.max(1)) } else { left };
        let _ = timeout(Duration::from_millis(left.max(1)), change).await;
    }
}

fn silence(silent_ms: u64, timeout_ms: u64) -> String {
    format!("no heartbeat for {silent_ms} ms (timeout {timeout_ms} ms)")
}
