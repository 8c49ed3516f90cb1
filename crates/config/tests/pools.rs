//! The pools that a unit may name.

use ostler_config::{ReadContext, load};
use std::path::Path;

fn description(text: &str, kept: &[&str]) -> Result<(), String> {
    let pools = Some(kept.iter().map(|name| (*name).to_owned()).collect());
    let around = ReadContext { pools, ..ReadContext::default() };
    let loaded = load(Path::new("/srv/ostler.toml"), text, &around);
    loaded
        .map(drop)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

const UNIT: &str = "[units.a]\ncommand = [\"a\"]\npool = \"coders\"\n";

/// X1: an undeclared pool is reported with its position and the known pools.
#[test]
fn a_unit_names_a_pool_of_its_own_file_or_of_another() {
    assert_eq!(description(UNIT, &["coders"]), Ok(()));
    assert_eq!(description(&format!("[pools.coders]\nmax = 1\n{UNIT}"), &[]), Ok(()));
    let near = description(UNIT, &["codes", "testers"]).expect_err("an unknown pool");
    assert!(near.contains("/srv/ostler.toml:3:8: there is no pool \"coders\""), "{near}");
    assert!(near.contains("= did you mean \"codes\"?"), "{near}");
    let far = description(UNIT, &["testers"]).expect_err("an unknown pool");
    assert!(far.contains("= known pools: testers; or write [pools.coders]"), "{far}");
    let none = description(UNIT, &[]).expect_err("an unknown pool");
    assert!(none.contains("= write [pools.coders] with max = 4"), "{none}");
}

/// X1: a default for all units is checked once, at its own position.
#[test]
fn a_pool_for_all_units_is_reported_once() {
    let text = "[defaults]\npool = \"coders\"\n[units.a]\ncommand = [\"a\"]\n[units.b]\ncommand = [\"b\"]\n";
    let wrong = description(text, &[]).expect_err("an unknown pool");
    assert_eq!(wrong.matches("there is no pool").count(), 1, "{wrong}");
    assert!(wrong.contains("ostler.toml:2:8"), "{wrong}");
}
