//! The words of sd_notify, for programs that speak those.

use super::Vitals;
use crate::checks::prober::{Probed, Tell};
use crate::handle::Handle;
use ostler_core::unit::UnitEvent;
use ostler_model::What;
use serde_json::json;
use std::sync::Arc;
use tokio::io::Interest;
use tokio::net::UnixDatagram;

/// A process that was found to be of the run, or not, is asked about again only after this time.
const KNOWN_FOR_MS: u64 = 1_000;
const NOTED_EVERY_MS: u64 = 10_000;

/// What is known of a sender.
#[derive(Clone, Copy)]
struct Known {
    pid: i32,
    is_of_run: bool,
    until_ms: u64,
}

/// Hears a unit for as long as it lives: its own processes, by the kernel's word for who sent it. Every process of this
/// user can write to the socket.
pub(crate) async fn hear(
    word: std::os::unix::net::UnixDatagram,
    vitals: Arc<Vitals>,
    engine: Handle,
    tell: Tell,
) {
    let Ok(word) = UnixDatagram::from_std(word) else { return };
    let mut text = [0; 4096];
    let mut known: Option<Known> = None;
    let mut noted_ms = None;
    loop {
        if word.readable().await.is_err() {
            return;
        }
        let heard = word.try_io(Interest::READABLE, || ostler_os::hear_words(&word, &mut text));
        let heard = match heard {
            Ok(heard) => heard,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        // Asked before the next datagram is taken: `systemd-notify` stays until we have taken its `BARRIER=1`.
        if !is_of_run(heard.from, &vitals, &engine, &mut known).await {
            let now_ms = ostler_os::mono_ms();
            if noted_ms.is_none_or(|at| now_ms >= at + NOTED_EVERY_MS) {
                noted_ms = Some(now_ms);
                tell(refused(heard.from, &vitals));
            }
            continue;
        }
        let lines = text[..heard.length].split(|byte| *byte == b'\n');
        for line in lines.filter_map(|line| std::str::from_utf8(line).ok()) {
            take(line, &vitals);
        }
    }
}

async fn is_of_run(
    from: Option<i32>,
    vitals: &Vitals,
    engine: &Handle,
    known: &mut Option<Known>,
) -> bool {
    let Some(pid) = from else { return false };
    let now_ms = ostler_os::mono_ms();
    if let Some(known) = known.filter(|known| known.pid == pid && now_ms < known.until_ms) {
        return known.is_of_run;
    }
    let is_of_run = engine.whose(pid).await == Some(vitals.run);
    *known = Some(Known { pid, is_of_run, until_ms: now_ms + KNOWN_FOR_MS });
    is_of_run
}

fn refused(from: Option<i32>, vitals: &Vitals) -> Probed {
    let run = vitals.run;
    let pid = from.unwrap_or(0);
    let why = match from {
        Some(pid) if ostler_os::fingerprint_of(pid).is_some() => {
            format!("process {pid} wrote to its notify socket, and is not of its run")
        }
        Some(_) | None => format!(
            "process {pid} wrote to its notify socket and has ended: whose it was is not known. A program that only notifies \
             must wait until it was heard, as systemd-notify does (BARRIER=1)"
        ),
    };
    let evidence = json!({ "pid": pid });
    let event = UnitEvent::Noted { run, what: What::AppRefused, why, evidence };
    Probed { unit: vitals.unit.clone(), event }
}

fn take(line: &str, vitals: &Vitals) {
    match line.split_once('=') {
        Some(("READY", "1")) => vitals.say_ready(),
        Some(("STATUS", text)) => vitals.say(text),
        Some(("WATCHDOG", "1")) => vitals.beat(None, None),
        Some(("STOPPING", "1")) => vitals.leaving(STOPPING_MS),
        Some(("EXTEND_TIMEOUT_USEC", us)) => {
            if let Ok(us) = us.parse::<u64>() {
                vitals.excuse(us / 1_000);
            }
        }
        Some(_) | None => {}
    }
}

/// As long as anything may take to end, it is not judged for its silence.
const STOPPING_MS: u64 = 60_000;

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_model::RunId;

    #[test]
    fn words_are_understood_and_others_passed_over() {
        let vitals = Vitals::new(RunId::new(1, [0; 10]), "u".to_owned(), None, None);
        for line in ["", "READY", "READY=0", "STATUS=READY=1", "X=1", "EXTEND_TIMEOUT_USEC=-1"] {
            take(line, &vitals);
        }
        assert!(!vitals.is_ready() && vitals.last_beat_ms().is_none());
        assert_eq!(vitals.extended_mono_ms(), 0);
        take("WATCHDOG=1", &vitals);
        assert!(vitals.last_beat_ms().is_some());
        take("EXTEND_TIMEOUT_USEC=5000000", &vitals);
        assert!(vitals.extended_mono_ms() >= ostler_os::mono_ms() + 4_000);
        take("READY=1", &vitals);
        assert!(vitals.is_ready());
    }
}
