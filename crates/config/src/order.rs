//! The order of units by dependency, or a dependency cycle.

use std::collections::{BTreeMap, BTreeSet};

/// Sorts units into waves: each wave needs only earlier waves. On a cycle, returns its members in order.
pub fn waves(needs: &BTreeMap<String, Vec<String>>) -> Result<Vec<Vec<String>>, Vec<String>> {
    let mut left: BTreeMap<&str, BTreeSet<&str>> = needs
        .iter()
        .map(|(name, needed)| {
            let known = needed.iter().filter(|other| needs.contains_key(*other));
            (name.as_str(), known.map(String::as_str).collect())
        })
        .collect();
    let mut needed_by: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, needed) in &left {
        for other in needed {
            needed_by.entry(other).or_default().push(name);
        }
    }
    let is_free = |(_, needed): &(&&str, &BTreeSet<&str>)| needed.is_empty();
    let mut free: BTreeSet<&str> = left.iter().filter(is_free).map(|(name, _)| *name).collect();
    let mut waves = Vec::new();
    while !free.is_empty() {
        let mut next = BTreeSet::new();
        for name in &free {
            left.remove(name);
            for dependent in needed_by.get(name).into_iter().flatten() {
                if let Some(needed) = left.get_mut(dependent) {
                    needed.remove(name);
                    if needed.is_empty() {
                        next.insert(*dependent);
                    }
                }
            }
        }
        waves.push(free.into_iter().map(str::to_owned).collect());
        free = next;
    }
    if left.is_empty() { Ok(waves) } else { Err(circle(&left)) }
}

/// Every unit in `left` needs another unit in `left`, so following the first dependency reaches a cycle.
fn circle(left: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<String> {
    let mut path: Vec<&str> = Vec::new();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut current = left.keys().next().copied();
    while let Some(name) = current {
        if let Some(begin) = seen.insert(name, path.len()) {
            path.drain(..begin);
            path.push(name);
            break;
        }
        path.push(name);
        current = left.get(name).and_then(|needed| needed.first().copied());
    }
    path.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(list: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        list.iter()
            .map(|(name, needed)| {
                ((*name).to_owned(), needed.iter().map(|other| (*other).to_owned()).collect())
            })
            .collect()
    }

    #[test]
    fn a_start_wave_depends_only_on_earlier_waves() {
        let found = waves(&needs(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[]), ("d", &[])]));
        assert_eq!(
            found,
            Ok(vec![vec!["c".into(), "d".into()], vec!["b".into()], vec!["a".into()]])
        );
    }

    #[test]
    fn a_dependency_cycle_is_printed_without_units_that_only_lead_to_it() {
        let found = waves(&needs(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"])]));
        assert_eq!(found, Err(vec!["b".into(), "c".into(), "b".into()]));
        assert_eq!(waves(&needs(&[("a", &["a"])])), Err(vec!["a".into(), "a".into()]));
    }

    #[test]
    fn a_long_dependency_chain_is_handled() {
        let chain = (0..10_000)
            .map(|i| {
                (format!("{i:05}"), if i == 0 { vec![] } else { vec![format!("{:05}", i - 1)] })
            })
            .collect();
        assert_eq!(waves(&chain).map(|waves| waves.len()), Ok(10_000));
    }
}
