//! The sd_notify protocol, for programs that use it.

use super::AppReport;
use crate::checks::prober::{NotifyFn, Probed};
use crate::handle::Handle;
use ostler_core::unit::UnitEvent;
use ostler_model::What;
use serde_json::json;
use std::sync::Arc;
use tokio::io::Interest;
use tokio::net::UnixDatagram;

/// How long the check whether a process belongs to the run is cached.
const KNOWN_FOR_MS: u64 = 1_000;
const NOTED_EVERY_MS: u64 = 10_000;

/// A cached check of a sender.
#[derive(Clone, Copy)]
struct CachedSender {
    pid: i32,
    is_of_run: bool,
    until_ms: u64,
}

/// Receives a unit's messages as long as it lives. Only messages from its own processes count, by the sender pid that
/// the kernel reports: every process of this user can write to the socket.
pub(crate) async fn receive(
    socket: std::os::unix::net::UnixDatagram,
    report: Arc<AppReport>,
    engine: Handle,
    notify: NotifyFn,
) {
    let Ok(socket) = UnixDatagram::from_std(socket) else { return };
    let mut text = [0; 4096];
    let mut known: Option<CachedSender> = None;
    let mut noted_ms = None;
    loop {
        if socket.readable().await.is_err() {
            return;
        }
        let received =
            socket.try_io(Interest::READABLE, || ostler_os::receive_stop(&socket, &mut text));
        let received = match received {
            Ok(received) => received,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        // Checked before the next datagram is read: `systemd-notify` stays alive until its `BARRIER=1` is read.
        if !is_of_run(received.from, &report, &engine, &mut known).await {
            let now_ms = ostler_os::mono_ms();
            if noted_ms.is_none_or(|at| now_ms >= at + NOTED_EVERY_MS) {
                noted_ms = Some(now_ms);
                notify(refused(received.from, &report));
            }
            continue;
        }
        let lines = text[..received.length].split(|byte| *byte == b'\n');
        for line in lines.filter_map(|line| std::str::from_utf8(line).ok()) {
            take(line, &report);
        }
    }
}

async fn is_of_run(
    from: Option<i32>,
    report: &AppReport,
    engine: &Handle,
    known: &mut Option<CachedSender>,
) -> bool {
    let Some(pid) = from else { return false };
    let now_ms = ostler_os::mono_ms();
    if let Some(known) = known.filter(|known| known.pid == pid && now_ms < known.until_ms) {
        return known.is_of_run;
    }
    let is_of_run = engine.run_of_pid(pid).await == Some(report.run);
    *known = Some(CachedSender { pid, is_of_run, until_ms: now_ms + KNOWN_FOR_MS });
    is_of_run
}

fn refused(from: Option<i32>, report: &AppReport) -> Probed {
    let run = report.run;
    let pid = from.unwrap_or(0);
    let why = match from {
        Some(pid) if ostler_os::fingerprint_of(pid).is_some() => {
            format!("process {pid} wrote to the notify socket but does not belong to the run")
        }
        Some(_) | None => format!(
            "process {pid} wrote to the notify socket and exited before it could be identified; a short-lived notifier \
             must wait until its message is read, as systemd-notify does (BARRIER=1)"
        ),
    };
    let evidence = json!({ "pid": pid });
    let event = UnitEvent::Noted { run, what: What::AppRefused, why, evidence };
    Probed { unit: report.unit.clone(), event }
}

fn take(line: &str, report: &AppReport) {
    match line.split_once('=') {
        Some(("READY", "1")) => report.report_ready(),
        Some(("STATUS", text)) => report.say(text),
        Some(("WATCHDOG", "1")) => report.beat(None, None),
        Some(("STOPPING", "1")) => report.leaving(STOPPING_MS),
        Some(("EXTEND_TIMEOUT_USEC", us)) => {
            if let Ok(us) = us.parse::<u64>() {
                report.excuse(us / 1_000);
            }
        }
        Some(_) | None => {}
    }
}

/// A unit that is stopping is not judged by its heartbeat during this time.
const STOPPING_MS: u64 = 60_000;

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_model::RunId;

    #[test]
    fn known_sd_notify_messages_are_read_and_others_ignored() {
        let report = AppReport::new(RunId::new(1, [0; 10]), "u".to_owned(), None, None);
        for line in ["", "READY", "READY=0", "STATUS=READY=1", "X=1", "EXTEND_TIMEOUT_USEC=-1"] {
            take(line, &report);
        }
        assert!(!report.is_ready() && report.last_beat_ms().is_none());
        assert_eq!(report.extended_mono_ms(), 0);
        take("WATCHDOG=1", &report);
        assert!(report.last_beat_ms().is_some());
        take("EXTEND_TIMEOUT_USEC=5000000", &report);
        assert!(report.extended_mono_ms() >= ostler_os::mono_ms() + 4_000);
        take("READY=1", &report);
        assert!(report.is_ready());
    }
}
