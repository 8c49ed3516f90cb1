//! The requests that the patrol and `nudge` use, on the control socket.

use ostler_e2e::{ControlSocket, Home, eventually};
use serde_json::{Value, json};

fn queue(socket: &mut ControlSocket, text: &str, priority: &str, life_ms: Option<u64>) -> Value {
    let draft = json!({ "from": "mayor", "to": "deacon", "text": text, "priority": priority, "lifeMs": life_ms });
    socket.ask("nudges.queue", draft)
}

fn claim(socket: &mut ControlSocket, most: u32) -> Vec<Value> {
    let claimed = socket.ask("nudges.claim", json!({ "to": "deacon", "most": most }));
    claimed.as_array().expect("a list").clone()
}

fn texts(nudges: &[Value]) -> Vec<&str> {
    nudges.iter().map(|nudge| nudge["text"].as_str().expect("a text")).collect()
}

/// P9: urgent nudges come first, then the oldest; each is claimed by one caller; they expire after a time; at most 50 wait.
#[test]
fn nudges_are_queued_claimed_settled_expired_and_refused() {
    let home = Home::new();
    home.ostler(&["start"]).ok();
    let mut socket = ControlSocket::connect(&home);
    let first = queue(&mut socket, "first", "normal", None);
    assert_eq!(
        (first["receipt"].as_str(), first["from"].as_str()),
        (Some("queued"), Some("mayor"))
    );
    let life = |nudge: &Value| nudge["expiresAtMs"].as_u64().zip(nudge["sentAtMs"].as_u64());
    assert_eq!(life(&first).map(|(end, sent)| end - sent), Some(30 * 60_000));
    let urgent = queue(&mut socket, "urgent", "urgent", None);
    assert_eq!(life(&urgent).map(|(end, sent)| end - sent), Some(120 * 60_000));
    let late = queue(&mut socket, "late", "urgent", Some(1));
    queue(&mut socket, "last", "normal", None);
    eventually("the nudge has expired", || {
        let all = socket.ask("nudges.list", json!({ "to": "deacon" }));
        let found = all.as_array()?.iter().find(|nudge| nudge["id"] == late["id"])?;
        (found["receipt"] == "expired").then_some(())
    });
    let counts = socket.ask("mail.counts", json!({}));
    assert_eq!(counts, json!([{ "name": "deacon", "mail": 0, "nudges": 3 }]));

    let mine = claim(&mut socket, 2);
    assert_eq!(texts(&mine), ["urgent", "first"]);
    assert_eq!(texts(&claim(&mut ControlSocket::connect(&home), 9)), ["last"]);
    let settle = |socket: &mut ControlSocket, nudge: &Value, receipt: &str| {
        let call = json!({ "id": nudge["id"], "receipt": receipt, "why": "seen" });
        socket.ask("nudges.settle", call)["receipt"].clone()
    };
    assert_eq!(settle(&mut socket, &mine[0], "delivered"), "delivered");
    assert_eq!(settle(&mut socket, &mine[0], "queued"), "delivered", "the receipt does not change");
    assert_eq!(settle(&mut socket, &mine[1], "queued"), "queued");
    assert_eq!(texts(&claim(&mut socket, 9)), ["first"], "the nudge was given back");

    for _ in 0..48 {
        assert_eq!(queue(&mut socket, "more", "normal", None)["receipt"], "queued");
    }
    let refused = queue(&mut socket, "too many nudges", "urgent", None);
    assert_eq!(refused["receipt"], "refused");
    assert!(refused["why"].as_str().expect("a reason").contains("50 nudges wait"), "{refused}");
    let draft = json!({ "from": "a", "to": "b", "text": "", "priority": "normal", "lifeMs": null });
    assert_eq!(socket.refused("nudges.queue", draft).0, "INVALID_REQUEST");
    let none = json!({ "id": "none", "receipt": "delivered", "why": "" });
    assert_eq!(socket.refused("nudges.settle", none).0, "NOT_FOUND");

    home.kill_supervisor();
    let mut socket = ControlSocket::connect(&home);
    let kept = socket.ask("nudges.list", json!({ "to": null }));
    assert_eq!(kept.as_array().expect("a list").len(), 52, "everything is on disk");
}

/// P8, P12: the patrol's memory outlives the supervisor; a caller that has not seen the current orders cannot overwrite them.
#[test]
fn the_patrols_memory_is_kept_and_stale_orders_are_refused() {
    let home = Home::new();
    home.ostler(&["start"]).ok();
    let mut socket = ControlSocket::connect(&home);
    let save = json!({ "states": { "deacon": { "backoffUntilMs": 7 } }, "town": { "ticks": 3 } });
    socket.ask("patrol.save", save);
    socket.ask("patrol.say", json!({ "agent": "deacon", "said": { "busyUntilMs": 9 } }));
    let none = json!({ "paused": null, "stopped": null, "ended": [], "spawns": [] });
    let order = json!({ "by": "overseer", "reason": "lunch", "atMs": 5, "isManual": true });
    let paused = json!({ "paused": order, "stopped": null, "ended": [], "spawns": [] });
    socket.ask("patrol.order", json!({ "seen": none, "now": paused }));
    let (code, description) = socket.refused("patrol.order", json!({ "seen": none, "now": none }));
    assert_eq!(code, "CONFLICT", "{description}");

    home.kill_supervisor();
    let memory = ControlSocket::connect(&home).ask("patrol.load", json!({}));
    assert_eq!(memory["states"]["deacon"]["backoffUntilMs"], 7, "{memory}");
    assert_eq!(memory["said"]["deacon"]["busyUntilMs"], 9);
    assert_eq!((&memory["town"]["ticks"], &memory["orders"]), (&json!(3), &paused));
}

/// P12, X2: `why` prints the patrol's decision as a sentence; a journal entry in another unit's name is refused.
#[test]
fn why_prints_what_the_patrol_decided() {
    let home = Home::new();
    home.ostler(&["start", "--name", "deacon", "--", "sleep", "900"]).ok();
    let mut socket = ControlSocket::connect(&home);
    let reason = "its heartbeat is 7 min old and 3 messages wait, so it is nudged";
    let note = |what: &str, unit: Option<&str>| json!({ "unit": unit, "what": what, "why": reason, "evidence": { "step": "nudge", "tail": "$\n> " } });
    let notes = [note("patrol-decided", Some("deacon")), note("mass-death", None)];
    socket.ask("patrol.note", json!({ "notes": notes }));
    let why = home.ostler(&["why", "deacon"]).ok().text();
    let description = format!("patrol: {reason} (step=nudge, tail=$ >");
    assert!(why.lines().any(|line| line.contains(&description)), "{why}");
    assert!(!why.contains("many sessions died"), "{why}");
    let events = home.ostler(&["events"]).ok().text();
    assert!(events.contains("mass-death") && events.contains("unit=deacon"), "{events}");
    let (code, description) =
        socket.refused("patrol.note", json!({ "notes": [note("spawned", Some("deacon"))] }));
    assert_eq!(code, "INVALID_REQUEST", "{description}");
}

/// P9: the text on a run's terminal, and whether it accepts bracketed paste.
#[test]
fn a_terminals_screen_is_text() {
    let home = Home::new();
    let script = "printf '\\033[2J\\033[Hready\\r\\n> \\033[?2004h'; exec sleep 900";
    let run = home.start_ready(&["--pty"], &["sh", "-c", script]);
    let mut socket = ControlSocket::connect(&home);
    let screen = eventually("the screen is drawn", || {
        let screen = socket.ask("runs.screen", json!({ "run": run }));
        (screen["takesPaste"] == true).then_some(screen)
    });
    assert_eq!(screen["lines"][0], "ready", "{screen}");
    assert!(screen["lines"][1].as_str().expect("a line").starts_with('>'), "{screen}");
    let piped = home.start(&[], &["sleep", "900"]);
    let (code, description) = socket.refused("runs.screen", json!({ "run": piped }));
    assert_eq!(code, "CONFLICT");
    assert!(description.contains("no terminal"), "{description}");
    assert_eq!(socket.refused("runs.screen", json!({ "run": "nix" })).0, "NOT_FOUND");
}
