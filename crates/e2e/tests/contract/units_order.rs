//! `depends_on`: who waits for whom, and says so.

use crate::units::Project;

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

/// X2: each waits until those it needs are ready, and says for whom.
#[test]
fn each_waits_for_those_it_needs() {
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

/// X2: one that has done its work well is there for those that need it.
#[test]
fn work_that_is_done_counts_as_there() {
    let work = "command = [\"sh\", \"-c\", \"echo x >> migrated\"]\nready = { line = \"never\" }";
    let web = "command = [\"sh\", \"-c\", \"test -e migrated && exec sleep 1000\"]\ndepends_on = [\"migrate\"]";
    let project = Project::of(&[("migrate", work), ("web", web)]);
    project.up();
    project.until_state("migrate", "done");
    assert_eq!(project.state("web"), "ready");
}

/// X2: those that wait go on to wait across a crash of the supervisor.
#[test]
fn waiting_survives_a_crash_of_the_supervisor() {
    let db = "command = [\"sleep\", \"1000\"]\nready = { exec = [\"test\", \"-e\", \"go\"] }";
    let project = Project::of(&[("db", db), ("web", &format!("{SLEEP}\ndepends_on = [\"db\"]"))]);
    project.call(&["up", "--no-wait"]).ok();
    project.until("db", "running", |view| view["pid"].is_i64());
    crate::daemon::replace_supervisor(&project.home);
    project.until("db", "running", |view| view["pid"].is_i64());
    assert_eq!(project.view("web")["why"], "waiting for db");
    touch(&project, "go");
    project.until_state("web", "ready");
    assert_eq!(project.copies_of("web"), 1);
}

/// X2: a need that ends in error is an error of those who wait: `up` says so and returns.
#[test]
fn a_need_in_error_is_told() {
    let db = format!(
        "{SLEEP}\nready = {{ line = \"never\", timeout = \"200ms\" }}\n{}",
        crate::units::SOON
    );
    let project = Project::of(&[("db", &db), ("web", &format!("{SLEEP}\ndepends_on = [\"db\"]"))]);
    let output = project.call(&["up"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.text().contains("web: waiting (waiting for db"), "{output:?}");
    project.until_state("db", "error");
    assert_eq!(project.copies_of("web"), 0);
    // Once it is mended, those who waited go on.
    project.declare(&[("db", SLEEP), ("web", &format!("{SLEEP}\ndepends_on = [\"db\"]"))]);
    project.up();
    assert_eq!(project.state("web"), "ready");
}

/// X2: `start` of one whose need is stopped comes to an end too.
#[test]
fn a_need_that_is_stopped_is_told() {
    let project =
        Project::of(&[("db", SLEEP), ("web", &format!("{SLEEP}\ndepends_on = [\"db\"]"))]);
    project.up();
    project.call(&["stop", "web", "db"]).ok();
    let output = project.spawn(&["start", "web"]).finish();
    assert!(output.code == 1 && output.text().contains("db"), "{output:?}");
    assert_eq!(project.state("db"), "stopped", "X4: nobody has asked for it");
}

/// Writes down who ends when. The second takes its time.
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

/// X2: they are ended in reverse, one after the other.
#[test]
fn they_are_ended_in_reverse() {
    for verb in [&["down"][..], &["stop", "c", "b", "a"], &["stop"]] {
        let project = chain();
        project.call(verb).ok();
        assert_eq!(ended(&project), "a b c ", "{verb:?}");
    }
}
/// X2: `why` of one that never ran says what it waits for.
#[test]
fn why_knows_one_that_waits() {
    let project =
        Project::of(&[("db", &gated("go")), ("web", &format!("{SLEEP}\ndepends_on = [\"db\"]"))]);
    project.call(&["up", "--no-wait"]).ok();
    project.until_state("web", "waiting");
    let output = project.call(&["why", "web"]).ok();
    assert!(output.text().contains("waiting for db"), "{output:?}");
}
