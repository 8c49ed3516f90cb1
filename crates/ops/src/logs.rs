//! The output of a run, in parts by offset.

use crate::operation::operation;
use ostler_model::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The client continues at `next`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Read {
    /// A run id, the unambiguous beginning or end of one, or a unit's name for its newest run.
    pub run: String,
    /// The offset of the first byte; by default the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// Begin this many lines before the end, if `from` is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// The most bytes: 65,536 by default, at most 1,048,576.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Answer when there is output, or the run has ended.
    #[serde(default)]
    pub wait: bool,
}

impl Read {
    pub const LIMIT: u64 = 64 << 10;
    pub const LIMIT_MOST: u64 = 1 << 20;
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogPart {
    pub run_id: RunId,
    pub pieces: Vec<LogPiece>,
    /// The offset after this part.
    pub next: u64,
    /// The offset after the last byte that the run wrote so far.
    pub end: u64,
    /// The run writes no more. Its output is complete if `next` is `end`.
    pub ended: bool,
}

/// Consecutive output of one stream; or a gap, which has no text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogPiece {
    pub kind: LogKind,
    /// The offsets of its first byte and after its last byte.
    pub from: u64,
    pub to: u64,
    /// When it was written, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
    /// What is not UTF-8 is replaced.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogKind {
    Stdout,
    Stderr,
    /// Output that was not kept.
    Gap,
}

operation!(Read: "logs.read", Query, ReadOnly, Waiting, At("/logs/{run}") => LogPart, "read a part of the output of a run");
