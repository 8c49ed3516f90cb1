//! The content of a terminal, as text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a person would see on a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ScreenText {
    pub lines: Vec<String>,
    /// The same without dim text, such as placeholders. Empty if there is no dim text.
    pub bright: Vec<String>,
    /// Single inverse cells: cursors that programs draw themselves.
    pub inverse: Vec<ScreenSpot>,
    pub title: String,
    /// The last payload of each operating system command (OSC), by its number; without titles.
    pub osc: BTreeMap<u16, String>,
    pub columns: u16,
    pub rows: u16,
    /// The program has turned on bracketed paste.
    pub takes_paste: bool,
    /// The program expects arrow keys as `ESC O A`, not as `ESC [ A`.
    pub application_cursor: bool,
    /// The program reads whole lines, and the terminal does not show what is typed, as for a password.
    pub hides_input: bool,
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
