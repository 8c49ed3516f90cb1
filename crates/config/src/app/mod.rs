//! Apps: what a manifest declares, and what `config.json` says of all of them.

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

/// What the file is called in an app's folder.
pub const MANIFEST_NAME: &str = "openclawos.manifest.json";
pub const DEFAULTS_NAME: &str = "config.json";

/// Taken over without being named: no secret is kept in these.
pub(crate) const ALLOWED: &[&str] = &["NODE_ENV", "PATH", "HOME", "LANG", "LC_ALL", "TZ"];

/// Ostler gives these itself, and not as whoever declares the app has them.
pub(crate) fn is_own_variable(name: &str) -> bool {
    name.starts_with("OPENCLAWOS_")
        || name.starts_with("OSTLER_")
        || name == "OPENCLAW_KERNEL_SOCKET"
}
