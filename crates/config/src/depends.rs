//! Checks the dependencies between units.

use crate::file::ConfigFile;
use crate::order::waves;
use crate::problem::{named, nearest};
use crate::resolve::Reader;
use std::collections::BTreeSet;

impl Reader<'_> {
    /// Checks that every dependency exists, and that there is no cycle.
    pub fn check_order(&mut self, parsed: &ConfigFile, agents: &[String]) {
        let own = parsed.units.keys().map(|name| name.as_str());
        let names: BTreeSet<&str> = own.chain(agents.iter().map(String::as_str)).collect();
        let may_come = parsed.agents.is_some() && self.around.is_following;
        let mut is_whole = true;
        for table in parsed.units.values() {
            for needed in table.depends_on.iter().flatten() {
                if names.contains(needed.as_str()) {
                    continue;
                }
                is_whole = false;
                // An agent removed from its list may come back, so the units that depend on it are not stopped.
                if may_come {
                    continue;
                }
                let hint = match nearest(
                    needed,
                    names.iter().copied().filter(|_| !self.findings.is_full()),
                ) {
                    Some(word) => format!("did you mean {word:?}?"),
                    None => format!("known units: {}", named(names.iter().copied())),
                };
                let description = match &parsed.agents {
                    Some(_) => format!(
                        "there is no unit {:?}, neither in this file nor in the list of agents",
                        needed.as_str()
                    ),
                    None => format!("there is no unit {:?}", needed.as_str()),
                };
                self.findings.add(needed.span(), description, hint);
            }
        }
        if !is_whole {
            return;
        }
        let needs = parsed
            .units
            .iter()
            .map(|(name, table)| {
                let needed = table.depends_on.iter().flatten();
                (name.to_string(), needed.map(|needed| needed.to_string()).collect())
            })
            .collect();
        let Err(circle) = waves(&needs) else { return };
        // The message points at the place where the first unit names the second.
        let [first, second, ..] = circle.as_slice() else { return };
        let (_, table) = match parsed.units.iter().find(|(name, _)| name.as_str() == first) {
            Some(found) => found,
            None => return,
        };
        let mut named = table.depends_on.iter().flatten();
        let span = named.find(|needed| needed.as_str() == second).map_or(0..0, |at| at.span());
        if first == second {
            let description = format!("unit {first:?} depends on itself");
            self.findings.add(span, description, "remove it from its own depends_on");
            return;
        }
        let description = format!("dependency cycle: {}", circle.join(" -> "));
        self.findings.add(span, description, "remove one of these dependencies");
    }
}
