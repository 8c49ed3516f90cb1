//! An agent's heartbeat file.

use crate::files;
use ostler_model::{Declared, DeclaredState, HeartbeatSeen, WatchReport};
use serde::Deserialize;
use std::path::Path;
use std::time::SystemTime;

/// A larger file is not a heartbeat.
const MOST: u64 = 64 << 10;
/// A heartbeat may be this far ahead of our clock.
const AHEAD_MOST_MS: u64 = 60_000;

/// The file as the deacon or another agent writes it. A missing field takes its default.
#[derive(Debug, Deserialize)]
struct HeartbeatFile {
    timestamp: jiff::Timestamp,
    #[serde(default)]
    cycle: u64,
    #[serde(default)]
    last_action: String,
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    context: Option<String>,
    #[serde(default)]
    busy_until: Option<jiff::Timestamp>,
}

/// The heartbeat, and what else the file declares: that the agent is busy, or stuck.
#[derive(Clone, Debug, PartialEq)]
pub struct Heartbeat {
    pub seen: HeartbeatSeen,
    pub busy_until_ms: Option<u64>,
    pub declared: Option<Declared>,
}

pub fn read(path: Option<&str>, now_ms: u64) -> Heartbeat {
    let none = |seen| Heartbeat { seen, busy_until_ms: None, declared: None };
    let Some(path) = path.map(Path::new) else { return none(HeartbeatSeen::None) };
    let unreadable = |why: String| none(HeartbeatSeen::Unreadable { why });
    let text = match files::read(path, MOST) {
        Ok(text) => text,
        Err(error) if files::is_gone(&error) => return none(HeartbeatSeen::Missing),
        Err(error) => return unreadable(error.to_string()),
    };
    let written: HeartbeatFile = match serde_json::from_slice(&text) {
        Ok(written) => written,
        // The agent may be in the middle of writing the file; the next tick reads it again.
        Err(error) => return unreadable(error.to_string()),
    };
    let ms = |at: jiff::Timestamp| u64::try_from(at.as_millisecond()).unwrap_or(0);
    let at_ms = ms(written.timestamp);
    if at_ms > now_ms.saturating_add(AHEAD_MOST_MS) {
        // The writer's clock is ahead, so the age is unknown.
        let at = files::stamp(at_ms);
        return unreadable(format!("its timestamp {at} is in the future"));
    }
    let declared = written.state.as_deref().and_then(|state| match state {
        "stuck" => Some(DeclaredState::Stuck),
        "awaiting-gate" => Some(DeclaredState::AwaitingGate),
        _ => None,
    });
    Heartbeat {
        seen: HeartbeatSeen::At {
            // A timestamp slightly ahead means that a clock was just set: the heartbeat is fresh.
            age_ms: now_ms.saturating_sub(at_ms),
            cycle: written.cycle,
            last_action: written.last_action,
        },
        busy_until_ms: written.busy_until.map(|until| {
            let said_ms = at_ms.min(written_ms(path).unwrap_or(now_ms)).min(now_ms);
            ms(until).min(said_ms.saturating_add(WatchReport::BUSY_MOST_MS))
        }),
        declared: declared.map(|state| Declared {
            state,
            reason: written.context.unwrap_or_default(),
            at_ms,
        }),
    }
}

/// The file's modification time, which does not depend on the writer's clock.
fn written_ms(path: &Path) -> Option<u64> {
    let at = std::fs::metadata(path).and_then(|file| file.modified()).ok()?;
    Some(at.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Heartbeat {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("heartbeat.json");
        std::fs::write(&path, text).expect("written");
        read(path.to_str(), 1_767_378_900_000)
    }

    #[test]
    fn the_heartbeat_file_of_gas_town_is_read() {
        let received = of(r#"{"timestamp":"2026-01-02T18:30:00Z","cycle":42,
            "last_action":"health-scan","healthy_agents":3,"unhealthy_agents":0}"#);
        let last_action = "health-scan".to_owned();
        assert_eq!(received.seen, HeartbeatSeen::At { age_ms: 300_000, cycle: 42, last_action });
    }

    #[test]
    fn a_missing_or_broken_heartbeat_is_unknown() {
        assert_eq!(read(None, 0).seen, HeartbeatSeen::None);
        assert_eq!(read(Some("/nowhere/at/all"), 0).seen, HeartbeatSeen::Missing);
        for broken in ["", "{", "[]", r#"{"cycle":1}"#, r#"{"timestamp":"yesterday"}"#] {
            assert!(matches!(of(broken).seen, HeartbeatSeen::Unreadable { .. }), "{broken}");
        }
    }

    /// P2: a timestamp from a clock that is ahead does not tell the heartbeat's age.
    #[test]
    fn a_heartbeat_from_the_future_is_unknown() {
        let received = of(r#"{"timestamp":"2026-01-02T18:36:00Z"}"#);
        assert!(
            matches!(received.seen, HeartbeatSeen::At { age_ms: 0, .. }),
            "a minute is a clock"
        );
        for at in ["2026-01-02T18:36:01Z", "2027-01-02T18:30:00Z"] {
            let received =
                of(&format!(r#"{{"timestamp":"{at}","busy_until":"2099-01-01T00:00:00Z"}}"#));
            let HeartbeatSeen::Unreadable { why } = received.seen else {
                panic!("{at}: {received:?}")
            };
            assert_eq!(why, format!("its timestamp {at} is in the future"));
            assert_eq!(received.busy_until_ms, None);
        }
    }

    #[test]
    fn a_heartbeat_may_declare_busy_or_stuck() {
        let received =
            of(r#"{"timestamp":"2026-01-02T18:30:00Z","state":"stuck","context":"no key",
            "busy_until":"2026-01-02T19:00:00Z"}"#);
        assert_eq!(received.busy_until_ms, Some(1_767_380_400_000));
        assert_eq!(
            received.declared.map(|said| (said.state, said.reason)),
            Some((DeclaredState::Stuck, "no key".to_owned()))
        );
    }
}
