//! What the patrol and `nudge` stand on, at the door.

use ostler_e2e::{Door, Home, eventually};
use serde_json::{Value, json};

fn queue(door: &mut Door, text: &str, priority: &str, life_ms: Option<u64>) -> Value {
    let draft = json!({ "from": "mayor", "to": "deacon", "text": text, "priority": priority, "lifeMs": life_ms });
    door.ask("nudges.queue", draft)
}

fn claim(door: &mut Door, most: u32) -> Vec<Value> {
    let claimed = door.ask("nudges.claim", json!({ "to": "deacon", "most": most }));
    claimed.as_array().expect("a list").clone()
}

fn texts(nudges: &[Value]) -> Vec<&str> {
    nudges.iter().map(|nudge| nudge["text"].as_str().expect("a text")).collect()
}

/// P9: urgent first, then the oldest; each to one alone; what waited too long expires; no more than 50 wait.
#[test]
fn nudges_are_queued_claimed_settled_expired_and_refused() {
    let home = Home::new();
    home.ostler(&["start"]).ok();
    let mut door = Door::connect(&home);
    let first = queue(&mut door, "first", "normal", None);
    assert_eq!(
        (first["receipt"].as_str(), first["from"].as_str()),
        (Some("queued"), Some("mayor"))
    );
    let life = |nudge: &Value| nudge["expiresAtMs"].as_u64().zip(nudge["sentAtMs"].as_u64());
    assert_eq!(life(&first).map(|(end, sent)| end - sent), Some(30 * 60_000));
    let urgent = queue(&mut door, "urgent", "urgent", None);
    assert_eq!(life(&urgent).map(|(end, sent)| end - sent), Some(120 * 60_000));
    let late = queue(&mut door, "late", "urgent", Some(1));
    queue(&mut door, "last", "normal", None);
    eventually("its time is over", || {
        let all = door.ask("nudges.list", json!({ "to": "deacon" }));
        let found = all.as_array()?.iter().find(|nudge| nudge["id"] == late["id"])?;
        (found["receipt"] == "expired").then_some(())
    });
    let counts = door.ask("mail.counts", json!({}));
    assert_eq!(counts, json!([{ "name": "deacon", "mail": 0, "nudges": 3 }]));

    let mine = claim(&mut door, 2);
    assert_eq!(texts(&mine), ["urgent", "first"]);
    assert_eq!(texts(&claim(&mut Door::connect(&home), 9)), ["last"]);
    let settle = |door: &mut Door, nudge: &Value, receipt: &str| {
        let call = json!({ "id": nudge["id"], "receipt": receipt, "why": "seen" });
        door.ask("nudges.settle", call)["receipt"].clone()
    };
    assert_eq!(settle(&mut door, &mine[0], "delivered"), "delivered");
    assert_eq!(settle(&mut door, &mine[0], "queued"), "delivered", "it stays so");
    assert_eq!(settle(&mut door, &mine[1], "queued"), "queued");
    assert_eq!(texts(&claim(&mut door, 9)), ["first"], "it was given back");

    for _ in 0..48 {
        assert_eq!(queue(&mut door, "more", "normal", None)["receipt"], "queued");
    }
    let refused = queue(&mut door, "too much", "urgent", None);
    assert_eq!(refused["receipt"], "refused");
    assert!(refused["why"].as_str().expect("a reason").contains("50 nudges wait"), "{refused}");
    let draft = json!({ "from": "a", "to": "b", "text": "", "priority": "normal", "lifeMs": null });
    assert_eq!(door.refused("nudges.queue", draft).0, "INVALID_REQUEST");
    let none = json!({ "id": "none", "receipt": "delivered", "why": "" });
    assert_eq!(door.refused("nudges.settle", none).0, "NOT_FOUND");

    home.kill_supervisor();
    let mut door = Door::connect(&home);
    let kept = door.ask("nudges.list", json!({ "to": null }));
    assert_eq!(kept.as_array().expect("a list").len(), 52, "all of it is on disk");
}

/// P8, P12: what is remembered outlives the supervisor; orders are not overwritten by who has not seen them.
#[test]
fn the_patrols_memory_is_kept_and_orders_are_compared() {
    let home = Home::new();
    home.ostler(&["start"]).ok();
    let mut door = Door::connect(&home);
    let save = json!({ "states": { "deacon": { "backoffUntilMs": 7 } }, "town": { "ticks": 3 } });
    door.ask("patrol.save", save);
    door.ask("patrol.say", json!({ "agent": "deacon", "said": { "busyUntilMs": 9 } }));
    let none = json!({ "paused": null, "stopped": null, "ended": [], "spawns": [] });
    let order = json!({ "by": "overseer", "reason": "lunch", "atMs": 5, "isManual": true });
    let paused = json!({ "paused": order, "stopped": null, "ended": [], "spawns": [] });
    door.ask("patrol.order", json!({ "seen": none, "now": paused }));
    let (code, description) = door.refused("patrol.order", json!({ "seen": none, "now": none }));
    assert_eq!(code, "CONFLICT", "{description}");

    home.kill_supervisor();
    let memory = Door::connect(&home).ask("patrol.load", json!({}));
    assert_eq!(memory["states"]["deacon"]["backoffUntilMs"], 7, "{memory}");
    assert_eq!(memory["said"]["deacon"]["busyUntilMs"], 9);
    assert_eq!((&memory["town"]["ticks"], &memory["orders"]), (&json!(3), &paused));
}

/// P12, X2: `why` tells what the patrol decided, as a sentence; nobody else's words can be put into the journal.
#[test]
fn why_tells_what_the_patrol_decided() {
    let home = Home::new();
    home.ostler(&["start", "--name", "deacon", "--", "sleep", "900"]).ok();
    let mut door = Door::connect(&home);
    let reason = "its heartbeat is 7 min old and 3 messages wait, so it is nudged";
    let note = |what: &str, unit: Option<&str>| json!({ "unit": unit, "what": what, "why": reason, "evidence": { "step": "nudge", "tail": "$\n> " } });
    let notes = [note("patrol-decided", Some("deacon")), note("mass-death", None)];
    door.ask("patrol.note", json!({ "notes": notes }));
    let why = home.ostler(&["why", "deacon"]).ok().text();
    let description = format!("patrol: {reason} (step=nudge, tail=$ >");
    assert!(why.lines().any(|line| line.contains(&description)), "{why}");
    assert!(!why.contains("many sessions died"), "{why}");
    let events = home.ostler(&["events"]).ok().text();
    assert!(events.contains("mass-death") && events.contains("unit=deacon"), "{events}");
    let (code, description) =
        door.refused("patrol.note", json!({ "notes": [note("spawned", Some("deacon"))] }));
    assert_eq!(code, "INVALID_REQUEST", "{description}");
}

/// P9: the text on a run's terminal, and whether it takes a paste.
#[test]
fn a_terminals_screen_is_text() {
    let home = Home::new();
    let script = "printf '\\033[2J\\033[Hready\\r\\n> \\033[?2004h'; exec sleep 900";
    let run = home.start_ready(&["--pty"], &["sh", "-c", script]);
    let mut door = Door::connect(&home);
    let screen = eventually("it is drawn", || {
        let screen = door.ask("runs.screen", json!({ "run": run }));
        (screen["takesPaste"] == true).then_some(screen)
    });
    assert_eq!(screen["lines"][0], "ready", "{screen}");
    assert!(screen["lines"][1].as_str().expect("a line").starts_with('>'), "{screen}");
    let piped = home.start(&[], &["sleep", "900"]);
    let (code, description) = door.refused("runs.screen", json!({ "run": piped }));
    assert_eq!(code, "CONFLICT");
    assert!(description.contains("no terminal"), "{description}");
    assert_eq!(door.refused("runs.screen", json!({ "run": "nix" })).0, "NOT_FOUND");
}
