use super::table::cut;
use super::units::{duration, time};
use ostler_model::Entry;
use serde_json::Value;

/// One journal entry as one line.
pub fn entry_line(entry: &Entry) -> String {
    let run = entry.run_id.map(|run| run.to_string()).unwrap_or_else(|| "-".to_owned());
    format!(
        "{} {:>6} {run} {:<18} {} by {}{}",
        time(entry.at_ms),
        entry.seq,
        entry.what,
        short(&entry.why, WHY_SHOWN),
        entry.who,
        evidence(entry)
    )
}

/// One entry of `ostler why`: the time since the first entry, what happened, why, and the evidence.
pub fn story_line(entry: &Entry, begun_ms: u64) -> String {
    format!(
        "  {}  +{:<7} {}: {}{}  [{}]",
        time(entry.at_ms),
        duration(entry.at_ms.saturating_sub(begun_ms)),
        entry.what.description(),
        short(&entry.why, WHY_SHOWN),
        evidence(entry),
        entry.who,
    )
}

/// Longer reasons and evidence are cut; JSON has all of it.
const WHY_SHOWN: usize = 1_000;
const EVIDENCE_SHOWN: usize = 160;

fn evidence(entry: &Entry) -> String {
    let description: Vec<String> = entry
        .evidence
        .iter()
        .filter(|(name, value)| !is_empty(value) && !is_whole(name, value))
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name}={}", short(text, EVIDENCE_SHOWN)),
            other => format!("{name}={}", short(&other.to_string(), EVIDENCE_SHOWN)),
        })
        .collect();
    if description.is_empty() { String::new() } else { format!(" ({})", description.join(", ")) }
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("")
}

/// Whether this is a complete observation of the patrol. It is not printed: the decisive values are separate evidence
/// and part of the reason.
fn is_whole(name: &str, value: &Value) -> bool {
    matches!(name, "observation" | "mechanical" | "by") && value.is_object()
}

/// Evidence may be a whole screen; it is cut to one line.
fn short(text: &str, most: usize) -> String {
    cut(text.trim_end(), most)
}
