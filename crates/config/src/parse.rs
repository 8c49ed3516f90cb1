//! Parses the tables of the file. Each key of each unit is read separately, so that one error does not hide the next.

use crate::file::{ConfigFile, UnitTable};
use crate::findings::Findings;
use crate::located::Located;
use crate::merge::KeyedTable;
use crate::patrol;
use crate::problem::nearest;
use crate::shape_error;
use crate::syntax::{self, Syntax};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error, ValueDeserializer};

/// Tables that a later version will support.
const LATER_TABLES: &[&str] = &[];
pub(crate) const LATER_UNIT_KEYS: &[&str] = &[];

const TABLES: &[&str] = &["supervisor", "defaults", "hooks", "agents", "patrol", "pools", "units"];

/// Returns all tables that could be read.
pub(crate) fn parse(findings: &mut Findings<'_>) -> ConfigFile {
    let mut file = ConfigFile::default();
    let text = findings.text;
    let (document, errors) = DeTable::parse_recoverable(text);
    if syntax::description(findings, &errors) == Syntax::Broken {
        return file;
    }
    for (key, value) in document.into_inner() {
        let name = key.get_ref().as_ref();
        match name {
            "supervisor" => file.supervisor = keys(findings, value, name, &[]),
            "agents" => file.agents = Some(keys(findings, value, name, &[])),
            "hooks" => file.hooks = keys(findings, value, name, &[]),
            "defaults" => file.defaults = keys(findings, value, name, LATER_UNIT_KEYS),
            "units" => file.units = named(findings, value, name, LATER_UNIT_KEYS),
            "pools" => file.pools = named(findings, value, name, &[]),
            "patrol" => file.patrol = Some(patrol::parse(findings, key.span(), value)),
            later if LATER_TABLES.contains(&later) => {
                shape_error::later(findings, key.span(), name)
            }
            _ => unknown_table(findings, key.span(), name, &value),
        }
    }
    file
}

/// A table of named tables: [units.NAME], [pools.NAME].
fn named<T: KeyedTable>(
    findings: &mut Findings<'_>,
    value: Spanned<DeValue<'_>>,
    kind: &str,
    later: &[&str],
) -> BTreeMap<Located<String>, T> {
    let span = value.span();
    let mut read = BTreeMap::new();
    let DeValue::Table(tables) = value.into_inner() else {
        let one = kind.strip_suffix('s').unwrap_or(kind);
        findings.add(
            span,
            format!("{kind} must be a table of {kind}"),
            format!("write [{kind}.NAME] above the keys of each {one}"),
        );
        return read;
    };
    for (name, value) in tables {
        let header = format!("{kind}.{}", name.get_ref());
        let name = Located::new(name.span(), name.into_inner().into_owned());
        // An entry with errors still exists for the units that refer to it.
        read.insert(name, keys(findings, value, &header, later));
    }
    read
}

/// Reads a table key by key, and skips keys with errors.
pub(crate) fn keys<T: KeyedTable>(
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
            findings.add(span, format!("{header} must be one table, not a list"), hint);
            return whole;
        }
        _ => {
            let hint = format!("write [{header}], and its keys below it");
            findings.add(span, format!("{header} must be a table"), hint);
            return whole;
        }
    };
    for (key, value) in table {
        if later.contains(&key.get_ref().as_ref()) {
            shape_error::later(findings, key.span(), key.get_ref());
            continue;
        }
        match read::<T>(&key, value.clone()) {
            Ok(part) => whole = part.over(&whole),
            Err(error) => print_each::<T>(findings, &key, value, &error),
        }
    }
    whole
}

/// Reads the table as if it had only this key.
fn read<'a, T: KeyedTable>(
    key: &Spanned<Cow<'a, str>>,
    value: Spanned<DeValue<'a>>,
) -> Result<T, Error> {
    let around = key.span().start..value.span().end;
    let mut alone = DeTable::new();
    alone.insert(key.clone(), value);
    T::deserialize(ValueDeserializer::from(Spanned::new(around, DeValue::Table(alone))))
}

/// Reports every error inside one value; for a table, the errors of each of its keys.
fn print_each<'a, T: KeyedTable>(
    findings: &mut Findings<'_>,
    key: &Spanned<Cow<'a, str>>,
    value: Spanned<DeValue<'a>>,
    whole: &Error,
) {
    let span = value.span();
    let mut is_reported = false;
    if let DeValue::Table(table) = value.into_inner() {
        for (inner, value) in table {
            let mut alone = DeTable::new();
            alone.insert(inner, value);
            let alone = Spanned::new(span.clone(), DeValue::Table(alone));
            // A key that is missing when its sibling is read alone is no error.
            if let Err(error) = read::<T>(key, alone)
                && !error.message().starts_with("missing field")
            {
                shape_error::shape(findings, &error, span.clone());
                is_reported = true;
            }
        }
    }
    if !is_reported {
        shape_error::shape(findings, whole, span);
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
        "this key belongs to a unit; write [units.NAME] above it".to_owned()
    } else if has("command") {
        format!("did you mean [units.{name}]?")
    } else {
        format!("known tables: {}", TABLES.join(", "))
    };
    let description = match inside {
        Some(_) => format!("{name:?} is not a known table"),
        None => format!("{name:?} is not a known key"),
    };
    findings.add(span, description, hint);
}
