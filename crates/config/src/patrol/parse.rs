//! Parses `[patrol]`, key by key.

use super::tables::{PatrolTable, WatchKeys, WatchTable};
use crate::findings::Findings;
use crate::located::Located;
use crate::merge::KeyedTable;
use crate::parse::{LATER_UNIT_KEYS, keys};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(crate) fn parse(
    findings: &mut Findings<'_>,
    at: Range<usize>,
    value: Spanned<DeValue<'_>>,
) -> PatrolTable {
    let mut patrol = PatrolTable { at, ..PatrolTable::default() };
    let span = value.span();
    let DeValue::Table(table) = value.into_inner() else {
        findings.add(span, "patrol must be a table", "write [patrol], and its keys below it");
        return patrol;
    };
    let mut rest = DeTable::new();
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "watch" => patrol.watch = agents(findings, value, "patrol.watch"),
            "worker" => patrol.worker = agents(findings, value, "patrol.worker"),
            _ => {
                rest.insert(key, value);
            }
        }
    }
    patrol.keys = keys(findings, Spanned::new(span, DeValue::Table(rest)), "patrol", &[]);
    patrol
}

fn agents(
    findings: &mut Findings<'_>,
    value: Spanned<DeValue<'_>>,
    header: &str,
) -> BTreeMap<Located<String>, WatchTable> {
    let span = value.span();
    let DeValue::Table(agents) = value.into_inner() else {
        let hint = format!("write [{header}.NAME] above the keys of each agent");
        findings.add(span, format!("{header} must be a table of agents"), hint);
        return BTreeMap::new();
    };
    let mut found = BTreeMap::new();
    for (name, value) in agents {
        let header = format!("{header}.{}", name.get_ref());
        let name = Located::new(name.span(), name.into_inner().into_owned());
        found.insert(name, agent(findings, value, &header));
    }
    found
}

/// Reads the keys of an agent and the keys of its unit.
fn agent(findings: &mut Findings<'_>, value: Spanned<DeValue<'_>>, header: &str) -> WatchTable {
    let span = value.span();
    let DeValue::Table(table) = value.into_inner() else {
        let hint = format!("write [{header}], and its keys below it");
        findings.add(span, format!("{header} must be a table"), hint);
        return WatchTable::default();
    };
    let (mut own, mut unit) = (DeTable::new(), DeTable::new());
    for (key, value) in table {
        if WatchKeys::KEYS.contains(&key.get_ref().as_ref()) {
            own.insert(key, value);
        } else {
            unit.insert(key, value);
        }
    }
    let of = |table| Spanned::new(span.clone(), DeValue::Table(table));
    WatchTable {
        keys: keys(findings, of(own), header, &[]),
        unit: keys(findings, of(unit), header, LATER_UNIT_KEYS),
    }
}
