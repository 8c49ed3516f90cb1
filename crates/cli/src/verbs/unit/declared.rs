//! Compares the units of the supervisor with the present content of their files.

use super::file::{self, circumstances};
use super::up::declare;
use ostler_client::Client;
use ostler_model::{ChangeKind, UnitView};
use ostler_ops::units::Declare;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Difference {
    Unreadable,
    #[serde(untagged)]
    Changed(ChangeKind),
}

/// The units whose files now declare them differently, by name.
pub fn changes<'a>(
    client: &mut Client,
    views: impl Iterator<Item = &'a UnitView> + Clone,
) -> BTreeMap<String, Difference> {
    let files: BTreeSet<&String> = views.clone().filter_map(|view| view.file.as_ref()).collect();
    let mut differences = BTreeMap::new();
    for file in files {
        let path = Path::new(file);
        let text = file::text(path).ok().and_then(Result::ok).unwrap_or_default();
        let config = ostler_config::load(path, &text, &circumstances());
        let own = views.clone().filter(|view| view.file.as_ref() == Some(file));
        let Ok(config) = config else {
            differences.extend(own.map(|view| (view.name.clone(), Difference::Unreadable)));
            continue;
        };
        let call = Declare {
            units: config.units,
            pools: config.pools,
            file: Some(file.clone()),
            keep: Vec::new(),
            gone: Vec::new(),
            start: false,
            dry_run: true,
        };
        let Ok(plan) = declare(client, call) else { continue };
        for change in plan.into_iter().filter(|change| change.kind != ChangeKind::Keep) {
            differences.insert(change.unit, Difference::Changed(change.kind));
        }
    }
    differences
}
