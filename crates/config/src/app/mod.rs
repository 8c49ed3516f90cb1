//! Apps: manifests, and the defaults of `config.json`.

mod capabilities;
mod defaults;
mod entry;
mod kind;
mod manifest;
mod open;
mod settings;
mod unit;

pub(crate) use defaults::{AppDefaults, read_defaults};
pub use kind::{JsonKind, check_config_json, json_kind};
pub(crate) use manifest::Manifest;
pub(crate) use open::{Unread, open};
pub(crate) use unit::load_alone;

/// The manifest's file name in an app's folder.
pub const MANIFEST_NAME: &str = "openclawos.manifest.json";
pub const DEFAULTS_NAME: &str = "config.json";

/// Variables that every app inherits; none of them holds a secret.
pub(crate) const ALLOWED: &[&str] = &["NODE_ENV", "PATH", "HOME", "LANG", "LC_ALL", "TZ"];

/// Whether Ostler sets the variable itself, so that it is not inherited.
pub(crate) fn is_own_variable(name: &str) -> bool {
    name.starts_with("OPENCLAWOS_")
        || name.starts_with("OSTLER_")
        || name == "OPENCLAW_KERNEL_SOCKET"
}
