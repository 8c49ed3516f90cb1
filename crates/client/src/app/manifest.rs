//! The manifest of an app.

use super::error::AppError;
use super::wire::PROTOCOL_VERSION;
use serde_json::{Value, json};
use std::io;
use std::path::Path;

/// The manifest's path, relative to the working directory.
pub const MANIFEST_FILE: &str = "openclawos.manifest.json";

/// The part of a manifest that registration needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    asked_for: Value,
}

impl Manifest {
    /// A manifest with this id. It must equal the id in the file that Ostler was given.
    pub fn new(id: &str) -> Self {
        let protocol = json!({ "version": PROTOCOL_VERSION });
        Self { asked_for: json!({ "id": id, "type": "app", "protocol": protocol }) }
    }

    /// Reads the file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, AppError> {
        let path = path.as_ref();
        let unread = |source| AppError::UnreadManifest { path: path.to_owned(), source };
        let text = std::fs::read(path).map_err(unread)?;
        let bytes = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&text);
        let value = serde_json::from_slice(bytes).map_err(io::Error::from).map_err(unread)?;
        Self::of(&value, &path.display().to_string())
    }

    fn of(whole: &Value, place: &str) -> Result<Self, AppError> {
        let (id, kind, protocol) = (&whole["id"], &whole["type"], &whole["protocol"]);
        if ![id, kind, &protocol["version"]].into_iter().all(Value::is_string) {
            return Err(AppError::BadManifest { place: place.to_owned() });
        }
        Ok(Self { asked_for: json!({ "id": id, "type": kind, "protocol": protocol }) })
    }

    pub fn id(&self) -> &str {
        self.asked_for["id"].as_str().unwrap_or_default()
    }

    pub(super) fn value(&self) -> &Value {
        &self.asked_for
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_awaited_answers_are_kept() {
        let whole =
            json!({ "id": "@a/b", "type": "app", "main": "x", "protocol": { "version": "1.0" } });
        let manifest = Manifest::of(&whole, "the manifest").expect("a manifest");
        assert_eq!(manifest, Manifest::new("@a/b"));
        assert_eq!(manifest.id(), "@a/b");
        assert_eq!(manifest.value().get("main"), None);
    }

    #[test]
    fn an_invalid_configuration_is_reported_with_its_position() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(MANIFEST_FILE);
        let description = |text: Option<&str>| {
            if let Some(text) = text {
                std::fs::write(&path, text).expect("written");
            }
            let error = Manifest::read(&path).expect_err("no manifest");
            assert_eq!(error.code(), "BAD_MANIFEST");
            let description = error.description();
            assert!(description.contains(MANIFEST_FILE), "{description}");
            description
        };
        assert!(description(None).contains("No such file"));
        assert!(description(Some("{")).contains("EOF"));
        for text in ["{}", "[]", r#"{"id": 1, "type": "app", "protocol": {"version": "1.0"}}"#] {
            assert!(description(Some(text)).contains("id, type and protocol.version"), "{text}");
        }
    }
}
