//! P10: the sender of mail without `--as`.

use ostler_e2e::Home;

fn sender(home: &Home, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = home.command(&["mail", "send", "mayor", "-s", "x", "-m", "y", "--json"]);
    command.args(arguments);
    for (name, value) in variables {
        command.env(name, value);
    }
    let sent = home.spawn_program(command).finish().ok().json();
    sent["from"].as_str().expect("a name").to_owned()
}

/// P10: --as, then the agent's own variables, then the unit that the call runs in, then the operator.
#[test]
fn the_sender_is_the_agent_the_unit_or_the_overseer() {
    let home = Home::new();
    assert_eq!(sender(&home, &[], &[]), "overseer");
    assert_eq!(sender(&home, &[], &[("BD_ACTOR", "bd")]), "bd");
    assert_eq!(
        sender(&home, &[], &[("BD_ACTOR", "bd"), ("GT_ROLE", "rig/witness")]),
        "rig/witness"
    );
    let agent = [("GT_ROLE", "role"), ("OSTLER_AGENT", "deacon")];
    assert_eq!(sender(&home, &[], &agent), "deacon");
    assert_eq!(sender(&home, &["--as", "me"], &agent), "me");
    assert_eq!(sender(&home, &[], &[("OSTLER_RUN_ID", "gone")]), "overseer");
}

/// P10: mail sent inside a unit is the unit's.
#[test]
fn mail_sent_inside_a_unit_is_the_units() {
    let home = Home::new();
    let binary = Home::binary();
    let script = format!("{} handoff -s 'from within' -m body && exec sleep 900", binary.display());
    home.ostler(&["start", "--name", "bot", "--", "sh", "-c", &script]).ok();
    let mail = ostler_e2e::eventually("the unit has written its handoff", || {
        let inbox = home.ostler(&["mail", "inbox", "bot", "--json"]).ok().json();
        inbox.as_array().expect("a list").first().cloned()
    });
    assert_eq!((mail["from"].as_str(), mail["kind"].as_str()), (Some("bot"), Some("handoff")));
    let why = home.ostler(&["why", "bot"]).ok().text();
    assert!(why.contains("handoff written: from within"), "{why}");
}
