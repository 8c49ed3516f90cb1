//! Recognizes which of our formats a JSON file has.

use super::defaults::{AppDefaults, check_defaults};
use super::{DEFAULTS_NAME, MANIFEST_NAME};
use crate::findings::Findings;
use crate::json::{self, Json};
use crate::problem::Problem;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonKind {
    /// A manifest: it declares an app.
    Manifest,
    /// A `config.json`: defaults for all apps.
    Defaults,
}

/// Decides by the file name, or else by the content.
pub fn json_kind(file: &Path, text: &str) -> JsonKind {
    let name = file.file_name().unwrap_or_default();
    if name == MANIFEST_NAME {
        return JsonKind::Manifest;
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let node = json::parse(&mut Findings::new(file, text));
    let object = match node.as_ref().map(|node| &node.json) {
        Some(Json::Object(object)) => Some(object),
        _ => None,
    };
    let has = |key: &str| object.is_some_and(|object| object.get(key).is_some());
    let is_manifest = ["id", "main", "protocol", "command"].into_iter().any(has);
    if (name == DEFAULTS_NAME || has("apps")) && !is_manifest {
        JsonKind::Defaults
    } else {
        JsonKind::Manifest
    }
}

/// Checks the keys of a `config.json` that Ostler reads.
pub fn check_config_json(file: &Path, text: &str) -> Result<(), Vec<Problem>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    check_defaults(file, text, AppDefaults::default()).map(drop)
}
