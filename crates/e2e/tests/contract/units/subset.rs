//! X10: a part of the units: by name, by pattern, by profile.

use crate::units::inspect::Seen;
use ostler_e2e::Output;

const SLEEP: &str = "exec sleep 1000";

fn states(seen: &Seen) -> Vec<String> {
    let views = seen.call(&["ls", "--json"]).ok().json();
    let describe = |view: &serde_json::Value| {
        format!(
            "{} {}",
            view["unit"].as_str().unwrap_or("?"),
            view["state"].as_str().unwrap_or("?")
        )
    };
    views.as_array().expect("a list").iter().map(describe).collect()
}

fn listed(output: &Output) -> Vec<String> {
    let views = output.json();
    let names = views.as_array().expect("a list").iter();
    names.map(|view| view["unit"].as_str().expect("a name").to_owned()).collect()
}

/// X10: `up NAME` starts the unit and what it depends on, and leaves the rest of the file alone.
#[test]
fn up_of_one_unit_starts_its_dependencies_and_nothing_else() {
    let seen = Seen::of(&[
        ("db", SLEEP, ""),
        ("web", SLEEP, "depends_on = [\"db\"]"),
        ("other", SLEEP, ""),
    ]);
    seen.call(&["up", "web"]).ok();
    assert_eq!(states(&seen), ["db ready", "web ready"]);
    seen.call(&["up"]).ok();
    let before = seen.view("other")["pid"].clone();
    // A change of the others waits until they are meant.
    seen.declare(&[("db", SLEEP, ""), ("web", "exec sleep 2000", "depends_on = [\"db\"]")]);
    seen.call(&["up", "db"]).ok();
    assert_eq!(states(&seen), ["db ready", "web ready"], "other left the file");
    assert_ne!(before, serde_json::Value::Null);
    assert!(seen.view("web")["command"].to_string().contains("1000"), "{}", seen.view("web"));
}

/// X10: a unit with a profile runs when its profile or its name is given, and stays when it is not.
#[test]
fn a_unit_with_a_profile_runs_when_asked_for() {
    let seen = Seen::of(&[("web", SLEEP, ""), ("debug", SLEEP, "profiles = [\"dev\", \"test\"]")]);
    seen.call(&["up"]).ok();
    assert_eq!(states(&seen), ["web ready"]);
    seen.call(&["up", "--profile", "dev"]).ok();
    assert_eq!(states(&seen), ["debug ready", "web ready"]);
    seen.call(&["up"]).ok();
    assert_eq!(states(&seen), ["debug ready", "web ready"], "it stays as it is");
    let refused = seen.call(&["up", "--profile", "prod"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("profiles: dev, test"), "{}", refused.stderr);
    seen.call(&["down"]).ok();
    assert_eq!(states(&seen), Vec::<String>::new(), "down removes every unit of the file");
    seen.call(&["up", "debug"]).ok();
    assert_eq!(states(&seen), ["debug ready"]);
}

/// X10: patterns work for the verbs that take several names of units.
#[test]
fn a_pattern_means_all_units_that_match() {
    let seen = Seen::of(&[
        ("web", SLEEP, ""),
        ("work-1", SLEEP, ""),
        ("work-2", "echo two; sleep 1000", ""),
    ])
    .up();
    let pids = |names: [&str; 3]| names.map(|name| seen.view(name)["pid"].clone());
    let before = pids(["web", "work-1", "work-2"]);
    seen.call(&["restart", "work-*"]).ok();
    let after = pids(["web", "work-1", "work-2"]);
    assert_eq!(before[0], after[0]);
    assert!(before[1] != after[1] && before[2] != after[2], "{before:?} {after:?}");
    assert_eq!(listed(&seen.call(&["ls", "--json", "work-?"])), ["work-1", "work-2"]);
    assert_eq!(seen.call(&["status", "work-*"]).code, 0);
    assert!(seen.call(&["logs", "work-*"]).ok().text().contains("work-2 | two"));
    assert!(seen.call(&["logs"]).ok().text().contains("work-2 | two"), "all units");
    seen.call(&["stop", "work-*"]).ok();
    assert_eq!(states(&seen), ["web ready", "work-1 stopped", "work-2 stopped"]);
    seen.call(&["start", "work-*"]).ok();
    seen.call(&["restart", "--all"]).ok();
    assert_ne!(seen.view("web")["pid"], after[0]);
    seen.call(&["down", "work-*"]).ok();
    assert_eq!(states(&seen), ["web ready"]);
    let refused = seen.call(&["stop", "nothing-*"]);
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    assert!(refused.stderr.contains("no unit matches \"nothing-*\""), "{}", refused.stderr);
}

/// X10: a word of another supervisor is an alias, or names the command to use.
#[test]
fn habits_of_other_supervisors_lead_to_the_right_command() {
    let seen = Seen::of(&[("web", SLEEP, "restart = \"always\"")]).up();
    for alias in ["ps", "list"] {
        assert_eq!(listed(&seen.call(&[alias, "--json"])), ["web"]);
    }
    assert_eq!(seen.call(&["validate"]).code, 0);
    let refused = seen.call(&["kill", "web"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("`ostler stop UNIT`"), "{}", refused.stderr);
    let wrong = seen.home.folder().join("wrong.toml");
    std::fs::write(&wrong, "[units.a]\ncommand = [\"true\"]\nrestart = \"allways\"\n")
        .expect("written");
    let refused = seen.call(&["check", "wrong.toml"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("did you mean \"always\"?"), "{}", refused.stderr);
}
