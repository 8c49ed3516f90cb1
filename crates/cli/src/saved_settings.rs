//! The settings of `[supervisor]` in ostler.toml. They are saved in the home as environment variables; the real
//! environment overrides them.

use crate::exit::Failure;
use ostler_config::SupervisorSettings;
use ostler_model::AdoptPolicy;
use ostler_sys::{Durability, write_atomic};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const NAMES: [&str; 4] = ["OSTLER_ADOPT", "OSTLER_HTTP", "OSTLER_LEASE", "OSTLER_OUTPUT_BYTES"];

fn place(home: &Path) -> PathBuf {
    home.join("settings")
}

/// Reads lines of `NAME=value`, and ignores all others.
pub fn read(home: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(place(home)).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let known = pairs.filter(|(name, _)| NAMES.contains(name));
    known.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Returns whether the settings changed. A setting that the file does not name stays as it is, because one daemon may
/// serve several files.
pub fn keep(home: &Path, settings: &SupervisorSettings) -> Result<bool, Failure> {
    let before = read(home);
    let mut new = before.clone();
    if let Some(lease_ms) = settings.lease_ms {
        new.insert("OSTLER_LEASE".to_owned(), format!("{lease_ms}ms"));
    }
    if let Some(adopt) = settings.adopt {
        let word = match adopt {
            AdoptPolicy::Adopt => "adopt",
            AdoptPolicy::Terminate => "terminate",
        };
        new.insert("OSTLER_ADOPT".to_owned(), word.to_owned());
    }
    match settings.output_bytes {
        Some(0) => {
            new.remove("OSTLER_OUTPUT_BYTES");
        }
        Some(bytes) => {
            new.insert("OSTLER_OUTPUT_BYTES".to_owned(), bytes.to_string());
        }
        None => {}
    }
    match settings.http {
        Some(Some(address)) => {
            new.insert("OSTLER_HTTP".to_owned(), address.to_string());
        }
        Some(None) => {
            new.remove("OSTLER_HTTP");
        }
        None => {}
    }
    if new == before {
        return Ok(false);
    }
    let path = place(home);
    let text: String = new.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    write_atomic(&path, text.as_bytes(), 0o600, Durability::Cached).map_err(Failure::failed)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_settings_are_read_again_and_missing_ones_keep_their_value() {
        let home = tempfile::tempdir().expect("a folder");
        let said = SupervisorSettings {
            http: Some(Some(([127, 0, 0, 1], 7420).into())),
            lease_ms: Some(10_000),
            adopt: Some(AdoptPolicy::Terminate),
            output_bytes: Some(20 << 30),
        };
        assert!(keep(home.path(), &said).expect("kept"));
        assert!(!keep(home.path(), &said).expect("the same"));
        let read_again = read(home.path());
        assert_eq!(read_again["OSTLER_HTTP"], "127.0.0.1:7420");
        assert_eq!(read_again["OSTLER_LEASE"], "10000ms");
        assert_eq!(read_again["OSTLER_ADOPT"], "terminate");
        assert_eq!(read_again["OSTLER_OUTPUT_BYTES"], (20_u64 << 30).to_string());
        let off = SupervisorSettings {
            http: Some(None),
            output_bytes: Some(0),
            ..SupervisorSettings::default()
        };
        assert!(!keep(home.path(), &SupervisorSettings::default()).expect("nothing is said"));
        assert!(keep(home.path(), &off).expect("kept"));
        assert_eq!(read(home.path()).keys().collect::<Vec<_>>(), ["OSTLER_ADOPT", "OSTLER_LEASE"]);
    }
}
