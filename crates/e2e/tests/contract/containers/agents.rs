//! A list of agents that another program writes is followed: new agents are started, removed ones are no longer watched.

use crate::containers::setup::{Engine, on_each_engine};
use crate::units::setup::Project;
use ostler_e2e::eventually;
use serde_json::{Value, json};

fn write(path: &str, text: &str) {
    let path = std::path::Path::new(path);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    // Atomically, as the other program writes it.
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).expect("written");
    std::fs::rename(beside, path).expect("renamed");
}

fn manifest(project: &Project, agent: &str, manifest: &Value) {
    let path = project.path(&format!(".ploinky/repos/basic/{agent}/manifest.json"));
    write(&path, &manifest.to_string());
}

fn list(project: &Project, agents: &[(&str, &str)]) {
    let records = agents.iter().map(|(container, agent)| {
        let record = json!({ "type": "agent", "agentName": agent, "repoName": "basic" });
        ((*container).to_owned(), record)
    });
    let mut all: serde_json::Map<String, Value> = records.collect();
    all.insert("_config".to_owned(), json!({ "static": {} }));
    all.insert("shell".to_owned(), json!({ "type": "interactive" }));
    write(&project.path(".ploinky/agents.json"), &Value::Object(all).to_string());
}

on_each_engine! {
    /// W5, W8: agents.json is the source of targets, and is followed live.
    followed: docker_agents podman_agents
}
fn followed(engine: &Engine) {
    let project = engine.project();
    let tag = std::process::id();
    let name = |agent: &str| format!("agent_{agent}_{:?}_{tag}", engine.kind).to_lowercase();
    let (one, two, bad) = (name("one"), name("two"), name("bad"));
    std::fs::write(project.file(), "[defaults]\nnetwork = \"none\"\n[agents]\n").expect("written");
    let idle = "trap 'exit 0' TERM; while :; do sleep 0.1; done";
    let image = engine.image();
    for agent in ["one", "two"] {
        let health = json!({ "liveness": { "script": "live.sh" } });
        manifest(&project, agent, &json!({ "container": image, "agent": idle, "health": health }));
        write(&project.path(&format!(".ploinky/repos/basic/{agent}/live.sh")), "test -d /code");
    }
    list(&project, &[(&one, "one"), (&bad, "nosuch")]);
    project.call(&["up"]);
    project.until_state(&one, "ready");
    let first = engine.id(&project, &one);
    assert_eq!(engine.inspect(&one)["Id"], first.as_str(), "under its name in the list");
    project.until(&bad, "in error", |view| view["state"] == "error");
    let why = project.call(&["why", &bad]).text();
    assert!(why.contains("nosuch/manifest.json"), "{why}");

    list(&project, &[(&one, "one"), (&two, "two")]);
    project.until_state(&two, "ready");
    let second = engine.id(&project, &two);
    assert!(project.find(&bad).is_none(), "no longer watched");
    assert_eq!(engine.id(&project, &one), first, "untouched");

    list(&project, &[(&two, "two")]);
    eventually("no longer watched", || project.find(&one).is_none().then_some(()));
    assert_eq!(engine.inspect(&first)["State"]["Running"], true, "and not killed");

    write(&project.path(".ploinky/agents.json"), "{ half");
    eventually("the broken list is reported", || {
        let output = project.call(&["logs", "agents"]).text();
        output.contains("agents.json").then_some(())
    });
    assert_eq!(project.state(&two), "ready", "a list that is broken changes nothing");

    list(&project, &[(&one, "one"), (&two, "two")]);
    project.until_state(&one, "ready");
    assert_eq!(engine.id(&project, &one), first, "watched again, the same container");
    assert_eq!(engine.id(&project, &two), second);
    project.call(&["down"]).ok();
    assert!(engine.of_project(&project).is_empty(), "`down` ends them");
}

on_each_engine! {
    /// W5: an agent that left the list while no daemon ran is not started again; other units may depend on an agent.
    left_meanwhile: docker_agents_left podman_agents_left
}
fn left_meanwhile(engine: &Engine) {
    let project = engine.project();
    let tag = std::process::id();
    let name = |agent: &str| format!("left_{agent}_{:?}_{tag}", engine.kind).to_lowercase();
    let (one, two) = (name("one"), name("two"));
    let text = |needed: &str| {
        format!(
            "[defaults]\nnetwork = \"none\"\n[agents]\n[units.after]\ncommand = [\"sleep\", \"1000\"]\n\
             depends_on = [{needed:?}]\n"
        )
    };
    std::fs::write(project.file(), text(&one)).expect("written");
    let idle = "trap 'exit 0' TERM; while :; do sleep 0.1; done";
    for agent in ["one", "two"] {
        manifest(&project, agent, &json!({ "container": engine.image(), "agent": idle }));
    }
    list(&project, &[(&one, "one"), (&two, "two")]);
    project.call(&["up"]).ok();
    project.until_state("after", "ready");

    project.call(&["stop"]).ok();
    assert!(engine.of_project(&project).is_empty());
    list(&project, &[(&two, "two")]);
    project.call(&["start"]).ok();
    project.until_state(&two, "ready");
    assert!(project.find(&one).is_none(), "it is noticed at the start");
    project.until("after", "waiting", |view| {
        view["why"].as_str().is_some_and(|why| why.contains(&one))
    });
    let refused = project.call(&["check"]);
    let description = format!("{refused:?}");
    assert!(
        description.contains("neither in this file nor in the list of agents"),
        "{description}"
    );

    project.call(&["stop", "agents"]).ok();
    list(&project, &[(&one, "one")]);
    project.call(&["start", "agents"]).ok();
    project.until_state("after", "ready");
    eventually("the other agent is no longer watched", || {
        project.find(&two).is_none().then_some(())
    });
    let left = engine.ok(&["inspect", "--format", "{{.State.Running}}", &two]);
    assert_eq!(left, "true", "and not killed");
    engine.ok(&["rm", "-f", &two]);
    project.call(&["down"]).ok();
    assert!(engine.of_project(&project).is_empty());
}

on_each_engine! {
    /// W5, R9: a container that left the list runs on with a run of its own, and `down` leaves nothing behind.
    left_and_taken_down: docker_agents_left_down podman_agents_left_down
}
fn left_and_taken_down(engine: &Engine) {
    let (project, [one, two]) = listed_pair(engine, "down");
    let first = engine.id(&project, &one);
    list(&project, &[(&two, "two")]);
    eventually("no longer watched", || project.find(&one).is_none().then_some(()));
    let run = eventually("it has a run of its own", || stand_in(&project));
    assert_eq!(engine.inspect(&first)["State"]["Running"], true, "the container runs on");
    let output = project.call(&["events", "--json"]).ok().text();
    assert!(output.contains("its container runs on"), "{output}");

    project.home.kill_supervisor();
    eventually("the next supervisor has it too", || {
        stand_in(&project).filter(|again| *again == run)
    });
    assert_eq!(
        engine.inspect(&first)["State"]["Running"],
        true,
        "it runs on without its supervisor"
    );

    let output = project.call(&["down"]).ok().text();
    assert!(output.contains(&format!("- remove   {one}")), "{output}");
    assert!(engine.of_project(&project).is_empty(), "down leaves nothing behind");
    assert_eq!(project.home.record(&run)["extinct"], "yes");
    assert_eq!(stand_in(&project), None);
}

on_each_engine! {
    /// W5, D4: `stop` also ends containers that left the list; an agent removed from the list and stopped by name is gone.
    left_and_stopped: docker_agents_left_stop podman_agents_left_stop
}
fn left_and_stopped(engine: &Engine) {
    let (project, [one, two]) = listed_pair(engine, "stop");
    list(&project, &[(&two, "two")]);
    eventually("no longer watched", || project.find(&one).is_none().then_some(()));
    eventually("it has a run of its own", || stand_in(&project));
    assert_eq!(engine.running_of_project(&project).len(), 2, "the container runs on");
    // The list is not read during the change: a stop by name ends the agent.
    project.call(&["stop", "agents"]).ok();
    list(&project, &[]);
    project.call(&["stop", &two]).ok();
    assert_eq!(engine.running_of_project(&project).len(), 1);
    project.call(&["stop"]).ok();
    assert!(engine.of_project(&project).is_empty(), "stop leaves nothing behind");
}

/// Two running agents.
fn listed_pair(engine: &Engine, what: &str) -> (Project, [String; 2]) {
    let project = engine.project();
    let tag = std::process::id();
    let name = |agent: &str| format!("{what}_{agent}_{:?}_{tag}", engine.kind).to_lowercase();
    let (one, two) = (name("one"), name("two"));
    std::fs::write(project.file(), "[defaults]\nnetwork = \"none\"\n[agents]\n").expect("written");
    let idle = "trap 'exit 0' TERM; while :; do sleep 0.1; done";
    for agent in ["one", "two"] {
        manifest(&project, agent, &json!({ "container": engine.image(), "agent": idle }));
    }
    list(&project, &[(&one, "one"), (&two, "two")]);
    project.call(&["up"]).ok();
    project.until_state(&one, "ready");
    project.until_state(&two, "ready");
    (project, [one, two])
}

/// The run of a container without a unit.
fn stand_in(project: &Project) -> Option<String> {
    let is_it = |run: &&Value| run["purpose"] == "left-container" && run["state"] == "running";
    let runs = project.home.records();
    runs.iter().find(is_it).map(|run| run["runId"].as_str().expect("an id").to_owned())
}
