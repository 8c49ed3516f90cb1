//! The content of the next heartbeat.

use super::clock;
use super::error::AppError;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The longest busy time that Ostler accepts.
pub const LONGEST_BUSY: Duration = Duration::from_secs(3_600);

/// The health of an app, as it reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Healthy,
    Degraded,
    Unhealthy,
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Unhealthy => "unhealthy",
        }
    }
}

/// A heartbeat without a busy declaration cancels the last one, so each heartbeat repeats the remaining time. The
/// remaining time is measured on the monotonic clock.
#[derive(Debug)]
pub(super) struct Liveness {
    status: Value,
    busy_until: Option<Instant>,
}

impl Liveness {
    pub(super) fn new() -> Self {
        Self { status: json!({ "status": Status::Healthy.word() }), busy_until: None }
    }

    /// Details that are not an object are ignored.
    pub(super) fn report(&mut self, status: Status, details: Value) {
        let mut whole = if details.is_object() { details } else { json!({}) };
        whole["status"] = status.word().into();
        self.status = whole;
    }

    pub(super) fn busy_for(&mut self, time: Duration) -> Result<(), AppError> {
        if time > LONGEST_BUSY {
            return Err(AppError::BusyTooLong { asked: time });
        }
        self.busy_until = Some(clock::now() + time);
        Ok(())
    }

    pub(super) fn params(&self) -> Value {
        let left = self.busy_until.map(|end| end.saturating_duration_since(clock::now()));
        match left.filter(|left| !left.is_zero()) {
            Some(left) => json!({ "status": self.status, "busyFor": clock::as_ms(left) + 1 }),
            None => json!({ "status": self.status }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_report_is_repeated_with_its_remaining_time() {
        let mut liveness = Liveness::new();
        assert_eq!(liveness.params(), json!({ "status": { "status": "healthy" } }));
        liveness.report(Status::Degraded, json!({ "queue": 3, "status": "mine" }));
        liveness.busy_for(Duration::from_secs(60)).expect("less than an hour");
        let params = liveness.params();
        assert_eq!(params["status"], json!({ "status": "degraded", "queue": 3 }));
        let left = params["busyFor"].as_u64().expect("a number");
        assert!((1..=60_001).contains(&left), "{left}");
        liveness.busy_for(Duration::ZERO).expect("cancelled");
        assert_eq!(liveness.params().get("busyFor"), None);
    }

    #[test]
    fn busy_is_one_hour_at_a_time() {
        let mut liveness = Liveness::new();
        liveness.busy_for(LONGEST_BUSY).expect("an hour");
        let error = liveness.busy_for(LONGEST_BUSY + Duration::from_millis(1)).expect_err("more");
        assert!(error.to_string().contains("3600.001 s"), "{error}");
    }
}
