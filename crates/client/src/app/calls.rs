//! Calls without an answer, in the order they were made.

use super::error::AppError;
use super::wire::Refusal;
use serde_json::Value;
use std::collections::BTreeMap;

type Answer = Result<Value, AppError>;

/// Whether a call may be sent twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeatable {
    Harmless,
    Harmful,
}

impl Repeatable {
    /// These have the same effect when they are repeated, so the client sends them again on the next connection.
    pub(super) fn of(method: &str) -> Self {
        match method {
            "app.register" | "app.ready" | "app.heartbeat" | "config.get" => Self::Harmless,
            _ => Self::Harmful,
        }
    }
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) method: String,
    pub(super) params: Value,
    pub(super) is_sent: bool,
    twice: Repeatable,
    answer: Option<Answer>,
}

#[derive(Debug, Default)]
pub(super) struct Calls {
    open: BTreeMap<u64, Call>,
    made: u64,
}

impl Calls {
    /// Reserves an id for a call that is not stored here.
    pub(super) fn next_id(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    pub(super) fn make(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id();
        let (method, twice) = (method.to_owned(), Repeatable::of(method));
        self.open.insert(id, Call { method, params, is_sent: false, twice, answer: None });
        id
    }

    pub(super) fn get(&mut self, id: u64) -> Option<&mut Call> {
        self.open.get_mut(&id)
    }

    /// Removes the call and returns its answer; `None` if there is no answer yet.
    pub(super) fn take(&mut self, id: u64) -> Option<Answer> {
        self.open.get(&id)?.answer.as_ref()?;
        self.open.remove(&id)?.answer
    }

    pub(super) fn forget(&mut self, id: u64) {
        self.open.remove(&id);
    }

    /// Ignores an answer to a call that has timed out.
    pub(super) fn answer(&mut self, request: &str, answer: Result<Value, Refusal>) {
        let Ok(id) = request.parse() else { return };
        let Some(call) = self.open.get(&id) else { return };
        let answer = answer.map_err(|refusal| refusal.to(&call.method));
        self.settle(id, answer);
    }

    pub(super) fn settle(&mut self, id: u64, answer: Answer) {
        if let Some(call) = self.open.get_mut(&id).filter(|call| call.answer.is_none()) {
            call.answer = Some(answer);
        }
    }

    pub(super) fn unsent(&self) -> Vec<u64> {
        let waiting = self.open.iter().filter(|(_, call)| !call.is_sent && call.answer.is_none());
        waiting.map(|(id, _)| *id).collect()
    }

    /// Handles the loss of the connection: calls that may be sent again wait for the next connection, the others fail.
    pub(super) fn lost(&mut self) {
        let mut over = Vec::new();
        for (id, call) in &mut self.open {
            if call.is_sent && call.twice == Repeatable::Harmful {
                over.push((*id, AppError::ConnectionLost { method: call.method.clone() }));
            }
            call.is_sent = false;
        }
        for (id, error) in over {
            self.settle(id, Err(error));
        }
    }

    pub(super) fn refuse(&mut self, why: impl Fn() -> AppError) {
        let ids: Vec<u64> = self.open.keys().copied().collect();
        for id in ids {
            self.settle(id, Err(why()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_lost_connection_fails_only_calls_that_cannot_be_repeated() {
        let mut calls = Calls::default();
        let ready = calls.make("app.ready", json!({}));
        let other = calls.make("x.once", json!({}));
        let unsent = calls.make("x.once", json!({}));
        for id in [ready, other] {
            calls.get(id).expect("open").is_sent = true;
        }
        calls.lost();
        assert_eq!(calls.unsent(), [ready, unsent]);
        let error = calls.take(other).expect("finished").expect_err("lost");
        assert_eq!(error.code(), "CONNECTION_LOST");
        assert!(error.to_string().contains("may have been done"), "{error}");
    }

    #[test]
    fn a_late_answer_is_dropped() {
        let mut calls = Calls::default();
        let late = calls.make("a", json!({}));
        calls.forget(late);
        calls.answer(&late.to_string(), Ok(json!(1)));
        assert!(calls.take(late).is_none());
        calls.answer("no number", Ok(json!(1)));
        assert!(calls.open.is_empty());
    }
}
