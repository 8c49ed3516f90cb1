//! Which units of a file `ostler up` includes.

use ostler_config::{Config, ReadContext, load};
use std::path::Path;

const FILE: &str = r#"
[units.db]
command = ["db"]
[units.web]
command = ["web"]
depends_on = ["db"]
[units.work-1]
command = ["work"]
[units.debug]
command = ["debug"]
profiles = ["dev"]
depends_on = ["web"]
"#;

fn config() -> Config {
    load(Path::new("/srv/ostler.toml"), FILE, &ReadContext::default()).expect("a valid file")
}

fn select(names: &[&str], profiles: &[&str]) -> Result<(Vec<String>, Vec<String>), String> {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let selection = config().select(&owned(names), &owned(profiles))?;
    let units = selection.units.into_iter().map(|unit| unit.name).collect();
    Ok((units, selection.others))
}

fn units(names: &[&str], profiles: &[&str]) -> Vec<String> {
    select(names, profiles).expect("a valid selection").0
}

/// X10: without names, the units that no profile excludes; the others are known as such.
#[test]
fn profiles_decide_when_no_unit_is_named() {
    assert_eq!(units(&[], &[]), ["db", "web", "work-1"]);
    assert_eq!(select(&[], &[]).expect("valid").1, ["debug"]);
    assert_eq!(units(&[], &["dev"]), ["db", "debug", "web", "work-1"]);
    assert_eq!(units(&[], &["*"]), ["db", "debug", "web", "work-1"]);
}

/// X10: a named unit comes with everything it depends on, whatever its profile.
#[test]
fn a_named_unit_comes_with_what_it_needs() {
    assert_eq!(units(&["work-*"], &[]), ["work-1"]);
    assert_eq!(units(&["debug"], &[]), ["db", "debug", "web"]);
}

/// X10: what matches nothing is an error that names what there is.
#[test]
fn an_unknown_name_or_profile_is_an_error() {
    let near = select(&["webb"], &[]).expect_err("an unknown unit");
    assert_eq!(near, "the file has no unit \"webb\"; did you mean \"web\"?");
    let none = select(&["x*"], &[]).expect_err("an unknown pattern");
    assert_eq!(none, "the file has no unit \"x*\"; its units: db, debug, web, work-1");
    let profile = select(&[], &["prod"]).expect_err("an unknown profile");
    assert!(profile.ends_with("profiles: dev"), "{profile}");
}
