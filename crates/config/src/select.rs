//! A part of a file: the units that are named, or that belong to the active profiles.

use crate::load::Config;
use crate::patrol::PATROL;
use crate::problem::{named, nearest};
use ostler_model::{NamePattern, UnitSpec};
use std::collections::BTreeSet;

/// What `ostler up` declares of a file.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    pub units: Vec<UnitSpec>,
    /// The names of the other units of the file. They stay as they are.
    pub others: Vec<String>,
}

impl Config {
    /// Without names: the units without a profile and those of an active one. With names or patterns: these. What the
    /// chosen units depend on belongs to them. The error says which name or profile is unknown.
    pub fn select(&self, names: &[String], active: &[String]) -> Result<Selection, String> {
        self.check_profiles(active)?;
        let chosen = if names.is_empty() { self.active(active) } else { self.named(names)? };
        let whole = self.with_needed(chosen);
        let (units, others): (Vec<&UnitSpec>, Vec<&UnitSpec>) =
            self.units.iter().partition(|unit| whole.contains(unit.name.as_str()));
        Ok(Selection {
            units: units.into_iter().cloned().collect(),
            others: others.into_iter().map(|unit| unit.name.clone()).collect(),
        })
    }

    fn check_profiles(&self, active: &[String]) -> Result<(), String> {
        let known: BTreeSet<&str> =
            self.profiles.values().flatten().map(String::as_str).chain(["*"]).collect();
        let Some(profile) = active.iter().find(|profile| !known.contains(profile.as_str())) else {
            return Ok(());
        };
        let declared = known.into_iter().filter(|name| *name != "*");
        Err(match self.profiles.is_empty() {
            true => format!("no unit of this file has the profile {profile:?}: none has profiles"),
            false => format!(
                "no unit of this file has the profile {profile:?}; profiles: {}",
                named(declared)
            ),
        })
    }

    /// The units that no profile excludes. The profile `*` includes all.
    fn active(&self, active: &[String]) -> BTreeSet<&str> {
        let is_active = |name: &str| {
            self.profiles.get(name).is_none_or(|own| {
                own.iter().any(|profile| active.contains(profile))
                    || active.iter().any(|profile| profile == "*")
            })
        };
        self.units.iter().map(|unit| unit.name.as_str()).filter(|name| is_active(name)).collect()
    }

    fn named(&self, names: &[String]) -> Result<BTreeSet<&str>, String> {
        let own = || self.units.iter().filter(|unit| unit.part.is_none());
        let known = || own().map(|unit| unit.name.as_str());
        let mut chosen = BTreeSet::new();
        for name in names {
            let matching: Vec<&str> = match NamePattern::of(name) {
                None => known().filter(|unit| unit == name).collect(),
                Some(pattern) => {
                    let pattern = pattern?;
                    known().filter(|unit| pattern.matches(unit)).collect()
                }
            };
            if matching.is_empty() {
                let hint = match nearest(name, known()) {
                    Some(near) => format!("did you mean {near:?}?"),
                    None => format!("its units: {}", named(known())),
                };
                return Err(format!("the file has no unit {name:?}; {hint}"));
            }
            chosen.extend(matching);
        }
        // An agent that the patrol watches needs the patrol.
        let watches = self.patrol.iter().flat_map(|patrol| &patrol.agents);
        if watches.into_iter().any(|agent| chosen.contains(agent.name.as_str())) {
            let is_patrol = |unit: &&UnitSpec| unit.name == PATROL;
            chosen.extend(self.units.iter().filter(is_patrol).map(|unit| unit.name.as_str()));
        }
        Ok(chosen)
    }

    /// These units with everything they depend on.
    fn with_needed<'a>(&'a self, mut chosen: BTreeSet<&'a str>) -> BTreeSet<&'a str> {
        let mut open: Vec<&str> = chosen.iter().copied().collect();
        while let Some(name) = open.pop() {
            let unit = self.units.iter().find(|unit| unit.name == name);
            for needed in unit.into_iter().flat_map(|unit| &unit.depends_on) {
                if chosen.insert(needed) {
                    open.push(needed);
                }
            }
        }
        chosen
    }
}
