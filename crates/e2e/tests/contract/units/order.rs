//! `depends_on`: units wait for others, and say for which.

use crate::units::setup::Project;

const SLEEP: &str = "command = [\"sleep\", \"1000\"]";

fn gated(gate: &str) -> String {
    format!(
        "command = [\"sh\", \"-c\", \"while ! test -e {gate}; do sleep 0.02; done; echo up; exec sleep 1000\"]\n\
         ready = {{ line = \"^up$\" }}"
    )
}

fn touch(project: &Project, name: &str) {
    std::fs::write(project.path(name), "").expect("written");
}

/// X2: a unit waits until its dependencies are ready, and says for which it waits.
#[test]
fn a_unit_waits_for_its_dependencies() {
    let project = Project::of(&[
        ("web", &format!("{SLEEP}\ndepends_on = [\"api\", \"db\"]")),
        ("api", &format!("{}\ndepends_on = [\"db\"]", gated("api-go"))),
        ("db", &gated("db-go")),
        ("alone", SLEEP),
    ]);
    project.call(&["up", "--no-wait"]).ok();
    project.until("db", "running", |view| view["pid"].is_i64());
    project.until_state("alone", "ready");
    assert_eq!(project.view("web")["why"], "waiting for api, db");
    assert_eq!(project.view("api")["why"], "waiting for db");
    for verb in [&["ls"][..], &["status", "api"]] {
        let text = project.call(verb).text();
        assert!(text.contains("waiting for db"), "{verb:?}: {text}");
    }
    touch(&project, "db-go");
    project.until("api", "running", |view| view["pid"].is_i64());
    assert_eq!(project.view("web")["why"], "waiting for api");
    assert_eq!(project.copies_of("web"), 0);
    touch(&project, "api-go");
    project.until_state("web", "ready");
    let started = |unit: &str| project.view(unit)["startedAtMs"].as_u64().expect("a time");
    assert!(started("db") <= started("api") && started("api") <= started("web"));
}

/// X2: a dependency that has finished successfully counts as ready.
#[test]
fn a_finished_dependency_counts_as_ready() {
    let work = "command = [\"sh\", \"-c\", \"echo x >> migrated\"]\nready = { line = \"never\" }";
    let web = "command = [\"sh\", \"-c\", \"test -e migrated && exec sleep 1000\"]\ndepends_on = [\"migrate\"]";
    let project = Project::of(&[("migrate", work), ("web", web)]);
    project.up();
    project.until_state("migrate", "done");
    assert_eq!(project.state("web"), "ready");
}

/// X2: units go on waiting across a crash of the supervisor.
#[test]
fn waiting_survives_a_crash_of_the_supervisor() {
    let db = "command = [\"sleep\", \"1000\"]\nready = { exec = [\"test\", \"-e\", \"go\"] }";
    let project = Project::of(&[("db", db), ("web", &format!("{SLEEP}\ndepends_on = [\"db\"]"))]);
    project.call(&["up", "--no-wait"]).ok();
    project.until("db", "running", |view| view["pid"].is_i64());
    crate::daemon::setup::replace_supervisor(&project.home);
    project.until("db", "running", |view| view["pid"].is_i64());
    assert_eq!(project.view("web")["why"], "waiting for db");
    touch(&project, "go");
    project.until_state("web", "ready");
    assert_eq!(project.copies_of("web"), 1);
}

/// X2: `up` reports units that wait for a failed dependency, and returns.
#[test]
fn a_failed_dependency_is_reported() {
    let db = format!(
        "{SLEEP}\nready = {{ line = \"never\", timeout = \"200ms\" }}\n{}",
        crate::units::setup::SOON
    );
    let project = Project::of(&[("db", &db), ("web", &format!("{SLEEP}\ndepends_on = [\"db\"]"))]);
    let output = project.call(&["up"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.text().contains("web: waiting (waiting for db"), "{output:?}");
    project.until_state("db", "error");
    assert_eq!(project.copies_of("web"), 0);
    // Once it is repaired, the waiting units start.
    project.declare(&[("db", SLEEP), ("web", &format!("{SLEEP}\ndepends_on = [\"db\"]"))]);
    project.up();
    assert_eq!(project.state("web"), "ready");
}

/// X2: `start` of a unit whose dependency is stopped returns too.
#[test]
fn a_stopped_dependency_is_reported() {
    let project =
        Project::of(&[("db", SLEEP), ("web", &format!("{SLEEP}\ndepends_on = [\"db\"]"))]);
    project.up();
    project.call(&["stop", "web", "db"]).ok();
    let output = project.spawn(&["start", "web"]).finish();
    assert!(output.code == 1 && output.text().contains("db"), "{output:?}");
    assert_eq!(project.state("db"), "stopped", "X4: the dependency was not requested");
}

/// Each unit records its end. The second one takes longer.
fn ends(name: &str, rest: &str) -> String {
    format!(
        "command = [\"sh\", \"-c\", \"trap 'sleep 0.2; echo {name} >> ended; exit 0' TERM; echo up; while :; do sleep 0.02; done\"]\n\
         ready = {{ line = \"^up$\" }}\nstop = {{ grace = \"20s\" }}\n{rest}"
    )
}

fn chain() -> Project {
    let project = Project::of(&[
        ("a", &ends("a", "depends_on = [\"b\"]")),
        ("b", &ends("b", "depends_on = [\"c\"]")),
        ("c", &ends("c", "")),
    ]);
    project.up();
    project
}

fn ended(project: &Project) -> String {
    std::fs::read_to_string(project.path("ended")).unwrap_or_default().replace('\n', " ")
}

/// X2: units are stopped in reverse order, one after the other.
#[test]
fn units_are_stopped_in_reverse_order() {
    for verb in [&["down"][..], &["stop", "c", "b", "a"], &["stop"]] {
        let project = chain();
        project.call(verb).ok();
        assert_eq!(ended(&project), "a b c ", "{verb:?}");
    }
}
/// X2: `why` of a unit that never ran prints what it waits for.
#[test]
fn why_of_a_waiting_unit_names_its_dependency() {
    let project =
        Project::of(&[("db", &gated("go")), ("web", &format!("{SLEEP}\ndepends_on = [\"db\"]"))]);
    project.call(&["up", "--no-wait"]).ok();
    project.until_state("web", "waiting");
    let output = project.call(&["why", "web"]).ok();
    assert!(output.text().contains("waiting for db"), "{output:?}");
}
