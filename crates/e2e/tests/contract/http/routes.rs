//! Every operation with a route is called, and its answer is as the document describes it.

use crate::http::setup::{Api, problem};
use ostler_ops::{CATALOGUE, Kind, Route};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// X9: every operation of the catalogue that has a route answers with the documented shape.
#[test]
fn every_route_answers_as_documented() {
    ostler_e2e::needs!("python3");
    let api = Api::new();
    let called: RefCell<BTreeSet<String>> = RefCell::default();
    let call = |operation: &str, path: &str, body: Option<Value>| {
        called.borrow_mut().insert(operation.to_owned());
        api.call(operation, path, body)
    };
    let ask = |operation: &str, path: &str| call(operation, path, None);
    let act = |operation: &str, path: &str, body: Value| call(operation, path, Some(body));

    assert_eq!(ask("daemon.ping", "/daemon")["pid"], api.web.project.home.supervisor_pid());
    ask("daemon.metrics", "/daemon/metrics");
    assert_eq!(ask("daemon.wake", "/daemon/wake"), json!({}));
    let declaration = json!({ "units": [], "pools": [], "file": null, "gone": [], "start": false, "dryRun": true });
    assert_eq!(act("units.declare", "/units", declaration), json!([]));
    let units = ask("units.list", "/units");
    let names: Vec<&Value> =
        units["items"].as_array().expect("a list").iter().map(|unit| &unit["unit"]).collect();
    assert_eq!(names, ["bot", "web"], "{units}");
    assert_eq!(units["next"], Value::Null);
    let shown = ask("units.show", "/units/web?depth=tree");
    assert_eq!(shown["view"]["unit"], "web");
    assert_eq!(shown["usage"]["tree"][0]["pid"], shown["view"]["pid"], "{shown}");
    let looked = ask("units.look", "/daemon/usage?units=web&units=bot&depth=whole&brief=true");
    assert_eq!(looked.as_array().map(Vec::len), Some(2), "{looked}");
    ask("units.stop", "/units/web/stop");
    let stopped = ask("units.await", "/units/web/await?until=stopped");
    assert_eq!(stopped[0]["state"], "stopped", "{stopped}");
    act("units.start", "/units/web/start", json!({}));
    let ready = ask("units.await", "/units/web/await?until=settled");
    assert_eq!(ready[0]["state"], "ready", "{ready}");
    ask("units.restart", "/units/web/restart");
    act("units.wake", "/units/web/wake", json!({ "why": "a test" }));

    called.borrow_mut().insert("runs.spawn".to_owned());
    let run = api.spawn("pty", &["sh", "-c", "echo hello; exec sleep 984"]);
    api.web.project.home.until_logged(&run, "hello");
    let of_run = |operation: &str, path: &str| ask(operation, &path.replace("RUN", &run));
    assert_eq!(of_run("runs.show", "/runs/RUN")["runId"], run);
    assert!(ask("runs.list", "/runs?liveOnly=true")["items"].to_string().contains(&run));
    assert_eq!(of_run("runs.await-start", "/runs/RUN/await-start")["state"], "running");
    assert_eq!(of_run("runs.screen", "/runs/RUN/screen")["lines"][0], "hello");
    assert_eq!(of_run("logs.read", "/logs/RUN?from=0")["pieces"][0]["kind"], "stdout");
    of_run("agents.show", "/agents/RUN?fresh=true");
    let cancelled =
        act("runs.cancel", &format!("/runs/{run}/cancel"), json!({ "reason": "a test" }));
    assert_eq!(cancelled["result"]["cancelReason"], "a test", "{cancelled}");
    assert_eq!(of_run("runs.wait", "/runs/RUN/wait")["termination"], "manual-cancel");

    assert_eq!(ask("apps.list", "/apps?state=ready")["apps"][0]["packageId"], "@e2e/bot");
    assert_eq!(ask("apps.info", "/apps/@e2e%2Fbot")["unit"], "bot");
    assert!(ask("apps.logs", "/apps/bot/logs?lines=2")["lines"][1].is_object());
    for (operation, path) in [
        ("apps.stop", "/apps/bot/stop"),
        ("apps.start", "/apps/bot/start"),
        ("apps.restart", "/apps/bot/restart"),
    ] {
        assert_eq!(act(operation, path, json!({ "wait": true })), json!({ "ok": true }));
    }

    let draft = json!({ "id": "0a-1", "from": "a", "to": "b/", "subject": "s", "body": "text" });
    assert_eq!(act("mail.send", "/mail/messages", draft)["to"], "b");
    assert_eq!(ask("mail.counts", "/mail/boxes")["items"][0]["mail"], 1);
    assert_eq!(ask("mail.inbox", "/mail/boxes/b%2F?unreadOnly=true")["items"][0]["id"], "0a-1");
    assert_eq!(ask("mail.show", "/mail/messages/0a-1")["body"], "text");
    let settled = act("mail.settle", "/mail/settle", json!({ "ids": ["0a-1"], "isRead": true }));
    assert!(settled[0]["readAtMs"].is_number(), "{settled}");
    act("mail.remove", "/mail/remove", json!({ "ids": ["0a-1"] }));
    let nudge = json!({ "id": "0a-2", "from": "a", "to": "bot", "text": "t", "priority": "normal", "lifeMs": null });
    act("nudges.queue", "/nudges", nudge);
    assert_eq!(ask("nudges.list", "/nudges?to=bot")["items"][0]["id"], "0a-2");

    let orders = ask("patrol.load", "/patrol")["orders"].clone();
    act("patrol.order", "/patrol/order", json!({ "seen": orders, "now": orders }));
    let said = json!({ "said": { "busyUntilMs": 1, "declared": null } });
    act("patrol.say", "/patrol/agents/deacon/say", said);
    ask("pools.list", "/pools");
    assert!(ask("journal.entries", "/events?newest=5")["items"][0]["seq"].is_number());
    ask("daemon.shutdown", "/daemon/shutdown");

    let has_route = |entry: &&ostler_ops::Entry| entry.route.path().is_some();
    for entry in CATALOGUE.iter().filter(has_route).filter(|entry| entry.kind != Kind::Stream) {
        assert!(called.borrow().contains(entry.name), "{} was not called", entry.name);
    }
}

/// X9: what has no route is not there, and the document has nothing else.
#[test]
fn the_document_has_exactly_the_routes_of_the_catalogue() {
    ostler_e2e::needs!("python3");
    let api = Api::new();
    let documented: BTreeSet<(String, String)> = api.document["paths"]
        .as_object()
        .expect("paths")
        .iter()
        .filter(|(path, _)| path.starts_with(Route::ROOT))
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().expect("methods").keys();
            methods.map(move |method| (path.clone(), method.clone()))
        })
        .collect();
    let of_entry = |entry: &ostler_ops::Entry| {
        let method = if entry.kind == Kind::Command { "post" } else { "get" };
        entry.route.path().map(|path| (format!("{}{path}", Route::ROOT), method.to_owned()))
    };
    assert_eq!(documented, CATALOGUE.iter().filter_map(of_entry).collect());
    for (path, methods) in api.document["paths"].as_object().expect("paths") {
        for method in ["get", "post", "put", "delete", "patch"] {
            if path.starts_with(Route::ROOT) && methods.get(method).is_none() {
                let refused = problem(&api.web.ask(&method.to_uppercase(), path, "{}"));
                assert_eq!(refused.0, 405, "{method} {path}");
            }
        }
    }
    for path in ["/runs/x/leave", "/patrol/save", "/mail/claim", "/daemon/hand-over"] {
        assert_eq!(problem(&api.post(path, &json!({}))).0, 404, "{path}");
    }
}

/// X9: no query changes anything.
#[test]
fn queries_change_nothing() {
    ostler_e2e::needs!("python3");
    let api = Api::new();
    let run = api.spawn("pty", &["sleep", "985"]);
    let newest = || {
        let events = api.get("/events?newest=1").json();
        events["items"][0]["seq"].as_i64().expect("a number")
    };
    let units = || api.get("/units").json();
    let before = (newest(), units());
    for entry in CATALOGUE.iter().filter(|entry| entry.kind == Kind::Query) {
        let Some(path) = entry.route.path() else { continue };
        if entry.name == "runs.wait" {
            continue;
        }
        let mut path = path.replace("{run}", &run).replace("{unit}", "web");
        path = path.replace("{packageId}", "bot").replace("{to}", "b").replace("{id}", "none");
        let query = if entry.name == "units.await" { "?until=settled" } else { "" };
        let status = api.get(&format!("{path}{query}")).status;
        assert!(status == 200 || (status == 404 && entry.name == "mail.show"), "{path}: {status}");
    }
    assert_eq!((newest(), units()), before);
}

/// X9: the journal names a caller over HTTP.
#[test]
fn the_journal_names_http() {
    ostler_e2e::needs!("python3");
    let api = Api::new();
    api.call("units.stop", "/units/web/stop", None);
    api.call("units.await", "/units/web/await?until=stopped", None);
    let events = api.call("journal.entries", "/events?unit=web", None);
    let asked = |entry: &&Value| entry["what"] == "unit-stop-asked";
    let entry = events["items"].as_array().expect("a list").iter().find(asked).expect("the stop");
    assert_eq!((&entry["who"]["kind"], &entry["who"]["pid"]), (&json!("caller"), &json!(0)));
    let why = api.web.project.call(&["why", "web"]).ok().text();
    assert!(why.contains("over HTTP"), "{why}");
}
