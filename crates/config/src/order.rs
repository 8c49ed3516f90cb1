//! Who depends on whom: waves, or the circle there is.

use std::collections::{BTreeMap, BTreeSet};

/// Units in waves: each wave needs only those before it. On a circle, its members in order.
pub fn waves(needs: &BTreeMap<String, Vec<String>>) -> Result<Vec<Vec<String>>, Vec<String>> {
    let mut left: BTreeMap<&str, BTreeSet<&str>> = needs
        .iter()
        .map(|(name, needed)| {
            let known = needed.iter().filter(|other| needs.contains_key(*other));
            (name.as_str(), known.map(String::as_str).collect())
        })
        .collect();
    let mut waves = Vec::new();
    while !left.is_empty() {
        let free: Vec<&str> =
            left.iter().filter(|(_, needed)| needed.is_empty()).map(|(name, _)| *name).collect();
        if free.is_empty() {
            return Err(circle(&left));
        }
        for name in &free {
            left.remove(name);
        }
        for needed in left.values_mut() {
            needed.retain(|other| !free.contains(other));
        }
        waves.push(free.into_iter().map(str::to_owned).collect());
    }
    Ok(waves)
}

/// Everyone left needs somebody who is left: whoever we follow, we come round.
fn circle(left: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<String> {
    let mut path: Vec<&str> = Vec::new();
    let mut current = left.keys().next().copied();
    while let Some(name) = current {
        if let Some(begin) = path.iter().position(|other| *other == name) {
            let mut round: Vec<String> =
                path[begin..].iter().map(|name| (*name).to_owned()).collect();
            round.push(name.to_owned());
            return round;
        }
        path.push(name);
        current = left.get(name).and_then(|needed| needed.first().copied());
    }
    path.into_iter().map(str::to_owned).collect()
}
