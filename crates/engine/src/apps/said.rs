//! The words of sd_notify, for programs that speak those.

use super::Vitals;
use std::sync::Arc;
use tokio::net::UnixDatagram;

/// Hears a unit for as long as it lives.
pub(crate) async fn hear(word: std::os::unix::net::UnixDatagram, vitals: Arc<Vitals>) {
    let Ok(word) = UnixDatagram::from_std(word) else { return };
    let mut text = [0; 4096];
    while let Ok(length) = word.recv(&mut text).await {
        let lines = text[..length].split(|byte| *byte == b'\n');
        for line in lines.filter_map(|line| std::str::from_utf8(line).ok()) {
            take(line, &vitals);
        }
    }
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
