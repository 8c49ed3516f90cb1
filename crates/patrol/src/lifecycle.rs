//! Requests of agents to be cycled, restarted or shut down: mail to the deacon with a subject that begins with
//! `LIFECYCLE:`.
//!
//! A request is removed from the mailbox before it is carried out, so it is carried out at most once, even if a process
//! dies in between. A request that is hours old is only reported.

use crate::connection::Connection;
use crate::error::PatrolError;
use crate::orders;
use crate::plan::Plan;
use ostler_client::UnitAsk;
use ostler_model::{Mail, PatrolNote, What};
use ostler_ops::mail::Remove;
use serde_json::{Map, Value, json};

const SUBJECT: &str = "LIFECYCLE:";
/// The mailboxes that receive such mail.
const MAILBOXES: [&str; 3] = ["deacon", "daemon", "patrol"];
const STALE_MS: u64 = 6 * 60 * 60_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LifecycleWish {
    /// A new session, for example after a handoff.
    Restart,
    Shutdown,
}

/// Carries out the requests. Returns what was done, for the journal.
pub fn requests(
    connection: &mut Connection,
    plan: &Plan,
    now_ms: u64,
) -> Result<Vec<PatrolNote>, PatrolError> {
    let mut found = Vec::new();
    for mailbox in MAILBOXES {
        let mails = connection.unread(mailbox)?;
        found.extend(
            mails.into_iter().filter(|mail| mail.subject.trim_start().starts_with(SUBJECT)),
        );
    }
    if found.is_empty() {
        return Ok(Vec::new());
    }
    if orders::held(connection, plan)?.is_some() {
        return Ok(Vec::new());
    }
    let ids = found.into_iter().map(|mail| mail.id).collect();
    let ours = connection.call(&Remove { ids })?;
    Ok(ours.iter().map(|mail| carry_out(connection, plan, mail, now_ms)).collect())
}

fn carry_out(connection: &mut Connection, plan: &Plan, mail: &Mail, now_ms: u64) -> PatrolNote {
    let note = |unit: Option<String>, why: String| PatrolNote {
        unit,
        what: What::LifecycleAsked,
        why,
        evidence: evidence(mail),
    };
    if let Some(hours) = stale_h(mail.sent_at_ms, now_ms) {
        return note(None, format!("dropped the request of {}: it is {hours} h old", mail.from));
    }
    let target = named(&mail.body).unwrap_or_else(|| mail.from.clone());
    let Some(agent) = plan.find(&target) else {
        return note(
            None,
            format!("{target:?} is not watched: dropped the request of {}", mail.from),
        );
    };
    let unit = Some(agent.name.clone());
    let Some(wish) = wish(&mail.body, &mail.subject) else {
        let description = format!(
            "dropped the request of {}: it names neither cycle, restart nor shutdown",
            mail.from
        );
        return note(unit, description);
    };
    let (ask, word) = match wish {
        LifecycleWish::Restart => (UnitAsk::Restart, "restarted"),
        LifecycleWish::Shutdown => (UnitAsk::Stop, "stopped"),
    };
    match connection.ask_unit(&agent.name, ask) {
        Ok(()) => note(unit, format!("{word} at the request of {}", mail.from)),
        Err(error) => note(unit, format!("could not be {word}: {error}")),
    }
}

/// The request's age in hours, if it is too old.
fn stale_h(sent_at_ms: u64, now_ms: u64) -> Option<u64> {
    let age_ms = now_ms.saturating_sub(sent_at_ms);
    (age_ms > STALE_MS).then_some(age_ms / 3_600_000)
}

/// From `{"action":"…"}`, or from a bare word in the body or the subject.
fn wish(body: &str, subject: &str) -> Option<LifecycleWish> {
    let of = |word: &str| match word {
        "cycle" | "restart" => Some(LifecycleWish::Restart),
        "shutdown" | "stop" => Some(LifecycleWish::Shutdown),
        _ => None,
    };
    if let Ok(Value::Object(object)) = serde_json::from_str(body) {
        return object.get("action").and_then(Value::as_str).and_then(of);
    }
    let words = |text: &str| {
        text.split(|c: char| !c.is_alphanumeric())
            .filter_map(|word| of(&word.to_lowercase()))
            .next()
    };
    words(body).or_else(|| words(subject))
}

fn named(body: &str) -> Option<String> {
    let Ok(Value::Object(object)) = serde_json::from_str(body) else { return None };
    let name = object.get("agent").or_else(|| object.get("target"))?;
    name.as_str().map(str::to_owned)
}

fn evidence(mail: &Mail) -> Map<String, Value> {
    match json!({ "mail": mail.id, "from": mail.from, "subject": mail.subject, "sentAtMs": mail.sent_at_ms })
    {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_stale_after_six_hours() {
        const HOUR: u64 = 3_600_000;
        assert_eq!(stale_h(HOUR, 7 * HOUR), None);
        assert_eq!(stale_h(HOUR, 7 * HOUR + 1), Some(6));
        assert_eq!(stale_h(HOUR, 9 * HOUR), Some(8));
        assert_eq!(stale_h(9 * HOUR, HOUR), None, "the clock was set back");
    }

    #[test]
    fn a_decision_is_an_object_or_a_bare_word() {
        assert_eq!(wish(r#"{"action":"cycle"}"#, ""), Some(LifecycleWish::Restart));
        assert_eq!(
            wish(r#"{"action":"shutdown"}"#, "LIFECYCLE: restart"),
            Some(LifecycleWish::Shutdown)
        );
        assert_eq!(wish("please restart me", ""), Some(LifecycleWish::Restart));
        assert_eq!(
            wish("", "LIFECYCLE: deacon requesting shutdown"),
            Some(LifecycleWish::Shutdown)
        );
        assert_eq!(wish(r#"{"action":"explode"}"#, "LIFECYCLE: restart"), None);
        assert_eq!(wish("restarted yesterday", "LIFECYCLE:"), None);
    }
}
