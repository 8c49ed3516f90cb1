//! The picture on a terminal, as text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a person would see on a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ScreenText {
    pub lines: Vec<String>,
    /// The same without what is drawn dim, as placeholders are; empty where that is all the same.
    pub bright: Vec<String>,
    /// Inverse cells beside which nothing is inverse: cursors that programs draw themselves.
    pub inverse: Vec<ScreenSpot>,
    pub title: String,
    /// The last payload of each operating system command (OSC), by its number; titles are not among them.
    pub osc: BTreeMap<u16, String>,
    pub columns: u16,
    pub rows: u16,
    /// The program has turned bracketed paste on.
    pub takes_paste: bool,
    /// It wants arrow keys as `ESC O A`, not as `ESC [ A`.
    pub application_cursor: bool,
    pub cursor: ScreenCursor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScreenSpot {
    pub row: u16,
    pub column: u16,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScreenCursor {
    pub row: u16,
    pub column: u16,
    pub is_visible: bool,
}
