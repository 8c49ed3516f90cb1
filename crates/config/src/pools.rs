//! The pools of a file, and the pools that its units name.

use crate::file::{PoolTable, UnitTable};
use crate::located::Located;
use crate::problem::{named, nearest};
use crate::resolve::Reader;
use ostler_model::PoolSpec;
use std::collections::BTreeMap;

const NAME_MOST: usize = 64;

impl Reader<'_> {
    pub fn pools(&mut self, tables: &BTreeMap<Located<String>, PoolTable>) -> Vec<PoolSpec> {
        let file = self.findings.file.display().to_string();
        let mut pools = Vec::new();
        for (name, table) in tables {
            if !is_pool_name(name) {
                let description = format!("{:?} is not a valid pool name", **name);
                let hint = "use letters, digits, and - _ . inside; at most 64 characters";
                self.findings.add(name.span(), description, hint);
            }
            if let Some(max) = table.max.as_ref().filter(|max| ***max == 0) {
                let hint = "it must be at least 1; remove max for no limit";
                self.findings.add(max.span(), "a pool with max = 0 starts no member", hint);
            }
            let on = |number: u64| Some(number).filter(|number| *number > 0);
            let max_pressure =
                table.max_pressure.map_or(PoolSpec::USUAL_MAX_PRESSURE, |percent| percent.0);
            pools.push(PoolSpec {
                name: (**name).clone(),
                max: table.max.as_ref().map(|max| **max),
                min_free_memory_bytes: table.min_free_memory.and_then(|size| on(size.0)),
                max_pressure: Some(max_pressure).filter(|share| *share > 0),
                file: Some(file.clone()),
            });
        }
        pools
    }

    /// A pool may be declared in another file. If the daemon was asked, its pools are known.
    pub fn check_pools<'a>(
        &mut self,
        units: impl Iterator<Item = &'a UnitTable>,
        own: &[PoolSpec],
    ) {
        let Some(kept) = &self.around.pools else { return };
        let known: Vec<&str> =
            own.iter().map(|pool| &*pool.name).chain(kept.iter().map(String::as_str)).collect();
        for unit in units {
            let Some(pool) = &unit.pool else { continue };
            let name = pool.0.as_str();
            if known.contains(&name) || self.findings.is_full() {
                continue;
            }
            let hint = match (nearest(name, known.iter().copied()), known.is_empty()) {
                (Some(word), _) => format!("did you mean {word:?}?"),
                (None, true) => format!("write [pools.{name}] with max = 4"),
                (None, false) => {
                    format!(
                        "known pools: {}; or write [pools.{name}]",
                        named(known.iter().copied())
                    )
                }
            };
            self.findings.add(pool.span(), format!("there is no pool {name:?}"), hint);
        }
    }
}

fn is_pool_name(name: &str) -> bool {
    name.len() <= NAME_MOST
        && name.chars().next().is_some_and(char::is_alphanumeric)
        && name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))
}
