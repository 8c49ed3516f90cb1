//! Registration: an app is the process that was started for it, or a caller with its launch secret.

use crate::apps::setup::{Apps, Kind, LONG, Puppet, QUICK_END, SOON, id};
use ostler_e2e::{Wire, eventually};
use serde_json::{Value, json};

fn started() -> (Apps, Puppet) {
    let apps = Apps::of("a", Kind::Raw, &format!("{LONG}\n{QUICK_END}\n{SOON}"));
    apps.up();
    let puppet = apps.puppet("a");
    (apps, puppet)
}

fn registration(name: &str, more: Value) -> Value {
    let manifest = json!({ "id": id(name), "type": "app", "protocol": { "version": "1.0" } });
    let mut params = json!({ "manifest": manifest });
    params.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
    params
}

/// A call with a token, from outside of the app's tree.
fn with_token(wire: &mut Wire, method: &str, token: &str) -> Value {
    let request = json!({ "id": "t", "type": "request", "method": method, "token": token });
    wire.send(format!("{request}\n").as_bytes()).expect("the request is sent");
    wire.answer()
}

/// A4: registering returns a token.
#[test]
fn registering_gives_a_token() {
    ostler_e2e::needs!("python3");
    let (apps, mut puppet) = started();
    puppet.run("w = Wire()");
    let answer = puppet.eval("w.register()");
    let result = &answer["result"];
    assert_eq!(result["appId"], id("a"), "{answer}");
    assert_eq!(result["protocolVersion"], "1.0");
    assert_eq!(result["heartbeatInterval"], 100);
    assert!(result["token"].as_str().is_some_and(|token| token.len() > 64), "{answer}");
    assert!(apps.why("a").contains("registered"), "{}", apps.why("a"));
    // Registering again on the same connection is the same app.
    assert_eq!(puppet.eval("w.register()")["result"]["token"], result["token"]);
    assert_eq!(puppet.eval("w.ask('app.ready')"), json!({ "ok": true }));
}

/// A4: before register APP_NOT_REGISTERED; then no token, a wrong token, another's token: UNAUTHORIZED.
#[test]
fn without_its_token_an_app_is_unauthorized() {
    ostler_e2e::needs!("python3");
    let (apps, mut puppet) = started();
    apps.add("b", Kind::Raw, &format!("{LONG}\n{QUICK_END}"));
    apps.up();
    let mut other = apps.ready_puppet("b");
    let token = other.eval("w.token").as_str().expect("a token").to_owned();
    puppet.run("w = Wire()");
    for method in ["app.ready", "app.heartbeat", "app.shutdown", "config.get"] {
        assert_eq!(puppet.eval(&format!("w.code('{method}')")), "APP_NOT_REGISTERED");
        assert_eq!(puppet.eval(&format!("w.code('{method}', token='made up')")), "UNAUTHORIZED");
    }
    puppet.run("w.register()");
    for method in ["app.ready", "app.heartbeat", "app.shutdown", "config.get"] {
        assert_eq!(puppet.eval(&format!("w.code('{method}', token=None)")), "UNAUTHORIZED");
        for token in ["made up", "", ".", &token, &token.replace('.', ""), &format!("{token}0")] {
            let code = puppet.eval(&format!("w.code('{method}', token='{token}')"));
            assert_eq!(code, "UNAUTHORIZED", "{token}");
        }
    }
    // None of these was accepted.
    assert_eq!(apps.info("a")["state"], "starting");
    assert_eq!(apps.info("a")["lastHeartbeat"], Value::Null);
    // One character of the token is wrong.
    puppet.run("forged = w.token[:-1] + ('0' if w.token[-1] != '0' else '1')");
    assert_eq!(puppet.eval("w.code('app.ready', token=forged)"), "UNAUTHORIZED");
    puppet.run("w.ask('app.ready')");
    apps.until_phase("a", "ready");
}

/// A4: another process cannot register as the app, and both journals have it.
#[test]
fn another_process_cannot_register_as_the_app() {
    ostler_e2e::needs!("python3");
    let (apps, mut puppet) = started();
    let mut stranger = apps.operator();
    let (code, description) = stranger.refused("app.register", registration("a", json!({})));
    assert_eq!(code, "FORBIDDEN", "{description}");
    assert!(description.contains("launch secret"), "{description}");
    for secret in ["", "0", &"0".repeat(64)] {
        let (code, _) =
            stranger.refused("app.register", registration("a", json!({ "secret": secret })));
        assert_eq!(code, "FORBIDDEN");
    }
    let (code, _) = stranger.refused("app.register", registration("none", json!({})));
    assert_eq!(code, "NOT_FOUND");
    // The same for the app itself: an undeclared id is not found, for any caller.
    assert_eq!(puppet.eval("Wire().register(id='none')['error']['code']"), "NOT_FOUND");
    apps.until_why("a", "claimed to be this app, but is not");
    // It is an operator as before, and the app is unchanged.
    stranger.ask("apps.list", json!({}));
    puppet.run("w = become_ready()");
    assert_eq!(apps.until_phase("a", "ready")["restartCount"], 0);
}

/// A4: the launch secret proves the app from outside of its tree.
#[test]
fn the_launch_secret_proves_the_app() {
    ostler_e2e::needs!("python3");
    let (apps, mut puppet) = started();
    let secret = puppet.eval("os.environ['OPENCLAWOS_LAUNCH_SECRET']");
    let mut outside = apps.operator();
    let result = outside.ask("app.register", registration("a", json!({ "secret": secret })));
    let token = result["token"].as_str().expect("a token").to_owned();
    assert_eq!(with_token(&mut outside, "app.ready", &token)["success"], true);
    apps.until_phase("a", "ready");
    // It is no operator any more.
    assert_eq!(outside.refused("apps.list", json!({})).0, "FORBIDDEN");
    // The secret of another app is invalid.
    apps.add("b", Kind::Raw, &format!("{LONG}\n{QUICK_END}"));
    apps.up();
    apps.puppet("b");
    let (code, _) =
        apps.operator().refused("app.register", registration("b", json!({ "secret": secret })));
    assert_eq!(code, "FORBIDDEN");
}

/// A4: a child and a grandchild of the app's process are the app; also after its parent is gone.
#[test]
fn its_descendants_are_the_app() {
    ostler_e2e::needs!("python3");
    let (apps, mut puppet) = started();
    puppet.run(
        "import subprocess\n\
         code = open(__file__).read().split('try:\\n    obey()')[0] + '\\nassert Wire().register()[\"success\"]\\n'\n\
         child = subprocess.run([sys.executable, '-c', code.replace('__file__', repr(__file__))])",
    );
    assert_eq!(puppet.eval("child.returncode"), 0);
    assert!(apps.why("a").contains("registered"), "{}", apps.why("a"));
}

/// A4: the required fields of a registration.
#[test]
fn a_wrong_registration_is_an_error() {
    ostler_e2e::needs!("python3");
    let (_apps, mut puppet) = started();
    puppet.run("w = Wire()");
    for manifest in [
        "{}",
        "{'id': ID}",
        "{'id': ID, 'type': 'app'}",
        "{'id': ID, 'type': 'app', 'protocol': {}}",
        "{'id': ID, 'type': 'app', 'protocol': {'version': '2.0'}}",
        "{'id': 5, 'type': 'app', 'protocol': {'version': '1.0'}}",
        "'text'",
    ] {
        let code = puppet.eval(&format!("w.code('app.register', {{'manifest': {manifest}}})"));
        assert_eq!(code, "INVALID_PARAMS", "{manifest}");
    }
    assert_eq!(puppet.eval("w.code('app.register')"), "INVALID_PARAMS");
    assert_eq!(puppet.eval("w.code('app.register', {'manifest': {'id': ID, 'type': 'app', 'protocol': {'version': '1.7'}}})"), Value::Null);
}

/// A4: the token is valid on a new connection, as long as the process lives.
#[test]
fn a_reconnect_resumes_with_the_token() {
    ostler_e2e::needs!("python3");
    let (apps, mut puppet) = started();
    puppet.run("w = become_ready(); token = w.token; w.socket.close()");
    puppet.run("w = Wire(); w.token = token");
    assert_eq!(puppet.eval("w.ask('app.heartbeat')")["ok"], true);
    // Events are sent here now.
    apps.declare("a", &format!("{LONG}\n{QUICK_END}\n{SOON}\nconfig = {{ x = 1 }}"));
    apps.write();
    apps.project.call(&["reload"]).ok();
    let event = puppet.eval("w.event()");
    assert_eq!(event["event"], "config", "{event}");
    assert_eq!(event["payload"]["config"], json!({ "x": 1 }));
    let token = puppet.eval("token").as_str().expect("a token").to_owned();
    // After the app's end its token is invalid.
    puppet.begin("os._exit(1)");
    let mut next = apps.ready_puppet("a");
    assert_ne!(next.eval("w.token"), token);
    let refused = with_token(&mut apps.operator(), "app.heartbeat", &token);
    assert_eq!(refused["error"]["code"], "UNAUTHORIZED");
}

/// A4: a second connection that registers gets the events; the first gets a notice and is closed.
#[test]
fn a_second_connection_supersedes_the_first() {
    ostler_e2e::needs!("python3");
    let (apps, mut puppet) = started();
    puppet.run("w = become_ready(); second = Wire()");
    assert_eq!(puppet.eval("second.register()['result']['token'] == w.token"), true);
    assert_eq!(puppet.eval("w.event()")["event"], "superseded");
    assert_eq!(puppet.eval("w.is_over()"), true);
    assert_eq!(puppet.eval("second.ask('app.heartbeat')")["ok"], true);
    let stop = apps.project.spawn(&["stop", "a"]);
    assert_eq!(puppet.eval("second.event()")["event"], "shutdown");
    puppet.begin("os._exit(0)");
    stop.finish().ok();
    eventually("the app has ended", || apps.info("a")["pid"].is_null().then_some(()));
}
