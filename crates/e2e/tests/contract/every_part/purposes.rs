//! What a run is for is decided by who starts it, not by a name that a caller chooses.

use ostler_e2e::{ControlSocket, Home};
use serde_json::json;

/// X1: a caller cannot request a run whose record is removed at its end, and no session's name makes it one.
#[test]
fn a_caller_cannot_request_a_run_of_the_supervisors_own() {
    let home = Home::new();
    home.ostler(&["start"]).ok();
    let mut socket = ControlSocket::connect(&home);
    for purpose in ["check", "sweep", "left-container", "hook", "delivery"] {
        let (code, why) = socket.refused("runs.spawn", spec(purpose, "s"));
        assert_eq!(code, "INVALID_REQUEST", "{why}");
        assert!(why.contains(purpose) && why.contains("leave the purpose out"), "{why}");
    }
    let refused = socket.refused("runs.spawn", spec("world-domination", "s"));
    assert_eq!(refused.0, "INVALID_REQUEST", "{}", refused.1);

    let run = socket.ask("runs.spawn", spec("program", "(check)"));
    let run = run["runId"].as_str().expect("an id").to_owned();
    socket.ask("runs.wait", json!({ "run": run }));
    let record = home.record(&run);
    assert_eq!(record["sessionId"], "(check)", "its record is kept: {record}");
    assert!(record.get("purpose").is_none(), "{record}");
}

fn spec(purpose: &str, session: &str) -> serde_json::Value {
    json!({
        "argv": ["true"], "cwd": "/", "env": ["PATH=/usr/bin:/bin"], "umask": 18, "backend": "pipe",
        "size": { "columns": 80, "rows": 24 }, "stdin": false, "sessionId": session, "purpose": purpose, "unit": null,
        "scopeKey": null, "limits": { "timeoutMs": null, "noOutputTimeoutMs": null, "graceMs": 1000 },
        "detach": "forbid",
    })
}
