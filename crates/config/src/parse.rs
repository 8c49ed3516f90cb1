//! From text to the file's tables. Each key of each unit is read for itself, so that one mistake does not hide
//! the next.

use crate::at::At;
use crate::file::{ConfigFile, Piecewise, UnitTable};
use crate::findings::Findings;
use crate::plain;
use crate::problem::nearest;
use crate::syntax::{self, Syntax};
use serde::de::DeserializeOwned;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What `config.md` promises and a later version will read.
const LATER_TABLES: &[&str] = &["patrol"];
const LATER_SUPERVISOR_KEYS: &[&str] = &["http"];
const LATER_UNIT_KEYS: &[&str] =
    &["limits", "manifest", "heartbeat", "image", "network", "volumes", "ports"];

const TABLES: &[&str] = &["supervisor", "defaults", "hooks", "units"];

/// The tables, as far as they can be read.
pub(crate) fn parse(findings: &mut Findings<'_>) -> ConfigFile {
    let mut file = ConfigFile::default();
    let text = findings.text;
    let (document, errors) = DeTable::parse_recoverable(text);
    if syntax::told(findings, &errors) == Syntax::Broken {
        return file;
    }
    for (key, value) in document.into_inner() {
        let name = key.get_ref().as_ref();
        match name {
            "supervisor" => {
                file.supervisor = keys(findings, value, name, LATER_SUPERVISOR_KEYS);
            }
            "hooks" => file.hooks = keys(findings, value, name, &[]),
            "defaults" => file.defaults = keys(findings, value, name, LATER_UNIT_KEYS),
            "units" => units(findings, value, &mut file),
            later if LATER_TABLES.contains(&later) => plain::later(findings, key.span(), name),
            _ => unknown_table(findings, key.span(), name, &value),
        }
    }
    file
}

fn units(findings: &mut Findings<'_>, value: Spanned<DeValue<'_>>, file: &mut ConfigFile) {
    let span = value.span();
    let DeValue::Table(units) = value.into_inner() else {
        findings.add(
            span,
            "units is a table of units",
            "write [units.NAME] above each unit's keys",
        );
        return;
    };
    for (name, value) in units {
        let header = format!("units.{}", name.get_ref());
        let name = At::new(name.span(), name.into_inner().into_owned());
        // One that cannot be read is still there for those that depend on it.
        file.units.insert(name, keys(findings, value, &header, LATER_UNIT_KEYS));
    }
}

/// A table, key by key, as far as it can be read.
fn keys<T: Piecewise>(
    findings: &mut Findings<'_>,
    value: Spanned<DeValue<'_>>,
    header: &str,
    later: &[&str],
) -> T {
    let span = value.span();
    let mut whole = T::default();
    let table = match value.into_inner() {
        DeValue::Table(table) => table,
        DeValue::Array(_) => {
            let hint = format!("write [{header}] once, with single brackets");
            findings.add(span, format!("{header} is one table, not a list"), hint);
            return whole;
        }
        _ => {
            let hint = format!("write [{header}], and its keys under it");
            findings.add(span, format!("{header} is a table"), hint);
            return whole;
        }
    };
    for (key, value) in table {
        if later.contains(&key.get_ref().as_ref()) {
            plain::later(findings, key.span(), key.get_ref());
            continue;
        }
        let mut alone = DeTable::new();
        let around = key.span().start..value.span().end;
        alone.insert(key, value);
        if let Some(part) = read::<T>(findings, Spanned::new(around, DeValue::Table(alone))) {
            whole = part.over(&whole);
        }
    }
    whole
}

fn read<T: DeserializeOwned>(
    findings: &mut Findings<'_>,
    value: Spanned<DeValue<'_>>,
) -> Option<T> {
    let span = value.span();
    match T::deserialize(toml::de::ValueDeserializer::from(value)) {
        Ok(read) => Some(read),
        Err(error) => {
            plain::shape(findings, &error, span);
            None
        }
    }
}

fn unknown_table(
    findings: &mut Findings<'_>,
    span: Range<usize>,
    name: &str,
    value: &Spanned<DeValue<'_>>,
) {
    let inside = value.get_ref().as_table();
    let has = |key: &str| inside.is_some_and(|table| table.contains_key(key));
    let is_unit_key = UnitTable::KEYS.contains(&name) || LATER_UNIT_KEYS.contains(&name);
    let hint = if let Some(word) = nearest(name, TABLES.iter().copied()) {
        format!("did you mean {word:?}?")
    } else if is_unit_key {
        "this belongs to a unit: write [units.NAME] above it".to_owned()
    } else if has("command") {
        format!("did you mean [units.{name}]?")
    } else {
        format!("known here: {}", TABLES.join(", "))
    };
    let told = match inside {
        Some(_) => format!("{name:?} is not a table that is known here"),
        None => format!("{name:?} is not a key that is known here"),
    };
    findings.add(span, told, hint);
}
