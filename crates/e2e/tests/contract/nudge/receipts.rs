//! Texts typed into terminals, each with a true receipt.

use crate::nudge::setup::{Kept, Town, in_every_terminal};
use crate::nudge::texts::{Dice, text, typed};
use crate::units::setup::Project;
use ostler_e2e::{Background, Signal, eventually};
use std::collections::HashMap;

in_every_terminal! {
    /// P9: a text is delivered once it was seen, with its sender; a person's text has none.
    delivered: a_text_arrives_in_our_terminal a_text_arrives_in_tmux
}

fn delivered(kept: Kept) {
    let town = Town::new(kept, &["paste"]);
    let output = town.nudge(&["check", "your inbox"]).ok().text();
    assert!(output.starts_with("delivered"), "{output}");
    town.until_received("check your inbox");
    town.nudge(&["--as", "mayor", "hello"]).ok();
    town.until_received("[from mayor] hello");
    town.nudge(&["--as", "mayor", "--raw", "line one\nline two"]).ok();
    town.until_received("line one\nline two");
    assert_eq!(town.received().len(), 3);
}

in_every_terminal! {
    /// P9: texts of every kind arrive exactly once and unchanged, or their receipt says that they did not.
    many_texts: any_text_arrives_once_in_our_terminal any_text_arrives_once_in_tmux
}

/// OSTLER_NUDGES sets the number.
fn many_texts(kept: Kept) {
    let wanted: Option<usize> =
        std::env::var("OSTLER_NUDGES").ok().and_then(|text| text.parse().ok());
    send_many(kept, &["paste"], wanted.map_or(60, |all| all * 3 / 4), true);
    send_many(kept, &[], wanted.map_or(20, |all| all / 4), false);
}

fn send_many(kept: Kept, words: &[&str], count: usize, keeps_lines: bool) {
    let town = Town::new(kept, words);
    let mut dice = Dice(0x05ee_d5ee_d5ee_d5ee);
    let mut expected: HashMap<String, usize> = HashMap::new();
    let mut refused = Vec::new();
    for number in 0..count {
        let text = text(&mut dice, number);
        let answer = town.say(&text, &["--mode", "immediate"]);
        let count = usize::from(answer["receipt"] == "delivered");
        if count == 0 {
            refused.push((number, answer));
        }
        expected.insert(typed(&text, keeps_lines), count);
    }
    let mut received: HashMap<String, usize> = HashMap::new();
    for message in town.received() {
        *received.entry(message).or_default() += 1;
    }
    for (text, count) in &expected {
        let times = received.remove(text).unwrap_or(0);
        assert_eq!(times, *count, "{:?} … {refused:?}", text.chars().take(60).collect::<String>());
    }
    // A second Enter is an empty message.
    received.remove("");
    assert!(received.is_empty(), "more messages than were sent: {received:?}");
    assert!(refused.len() * 50 <= count, "{} of {count} were refused: {refused:?}", refused.len());
    eprintln!("{count} texts ({kept:?}, {words:?}), {} refused", refused.len());
}

in_every_terminal! {
    /// P9: of twenty texts at once, each arrives whole and once.
    at_once: twenty_at_once_do_not_mix_in_our_terminal twenty_at_once_do_not_mix_in_tmux
}

fn at_once(kept: Kept) {
    let town = Town::new(kept, &["paste"]);
    let long = "all work and no play ".repeat(40);
    let texts: Vec<String> =
        (0..20).map(|number| format!("{number}: {long}end {number}")).collect();
    let speaking: Vec<Background> =
        texts.iter().map(|text| town.project.spawn(&["nudge", "agent", text])).collect();
    for one in speaking {
        one.finish_within(std::time::Duration::from_secs(120)).ok();
    }
    // Texts that waited too long are in the queue, and come before the next text.
    eventually("the queue is empty", || {
        town.nudge(&["and you?"]).ok();
        town.listed().iter().all(|nudge| nudge["receipt"] != "queued").then_some(())
    });
    let received = town.received();
    for text in &texts {
        let times = received.iter().filter(|message| *message == text).count();
        assert_eq!(times, 1, "{:?}", &text[..20]);
    }
    let others = received.iter().filter(|message| !texts.contains(message));
    assert!(
        others.clone().all(|message| message == "and you?" || message.is_empty()),
        "{others:?}"
    );
}

in_every_terminal! {
    /// P9: a text is not delivered to a program that does not take Enter, and its input line is cleared.
    deaf: one_that_ignores_enter_in_our_terminal one_that_ignores_enter_in_tmux
}

fn deaf(kept: Kept) {
    let town = Town::new(kept, &["paste", "deaf", "clock"]);
    let answer = town.nudge(&["--mode", "immediate", "--json", "are you there?"]);
    assert_eq!(answer.code, 1);
    let answer = answer.json();
    assert_eq!(answer["receipt"], "refused");
    let why = answer["why"].as_str().expect("a reason");
    assert!(why.contains("Enter was pressed") && why.contains("cleared"), "{why}");
    assert!(town.received().is_empty());
}

in_every_terminal! {
    /// P9: a text that is not shown is not sent: the program may ask for a password.
    blind: one_that_shows_nothing_in_our_terminal one_that_shows_nothing_in_tmux
}

fn blind(kept: Kept) {
    let town = Town::new(kept, &["blind"]);
    let answer = town.say("are you there?", &["--mode", "immediate"]);
    assert_eq!(answer["receipt"], "refused", "{answer}");
    assert!(answer["why"].as_str().expect("a reason").contains("screen"), "{answer}");
    assert!(town.received().is_empty());
}

in_every_terminal! {
    /// P9: a menu is not answered; a text that may wait is queued.
    menu: a_menu_is_not_answered_in_our_terminal a_menu_is_not_answered_in_tmux
}

fn menu(kept: Kept) {
    let town = Town::new(kept, &["menu"]);
    let answer = town.say("1 yes please", &["--mode", "immediate"]);
    assert_eq!(answer["receipt"], "refused", "{answer}");
    assert!(answer["why"].as_str().expect("a reason").contains("menu"), "{answer}");
    let answer = town.say("1 yes please", &[]);
    assert_eq!(answer["receipt"], "queued", "{answer}");
    assert!(town.received().is_empty(), "{:?}", town.received());
}

in_every_terminal! {
    /// P9: texts for a working agent wait, urgent ones first, and are typed before the next text when it is idle.
    queued: what_waits_is_typed_when_it_is_idle_in_our_terminal what_waits_is_typed_when_it_is_idle_in_tmux
}

fn queued(kept: Kept) {
    let town = Town::new(kept, &["paste", "busy=HERE/go"]);
    assert_eq!(town.say("first", &["--mode", "queue"])["receipt"], "queued");
    let urgent = town.say("second", &["--urgent", "--mode", "queue"]);
    assert_eq!(urgent["receipt"], "queued");
    town.nudge(&["--mode", "queue", "--expires", "1ms", "too late"]).ok();
    assert!(town.received().is_empty());
    std::fs::write(town.project.path("go"), "").expect("a file");
    town.nudge(&["third"]).ok();
    town.until_received("third");
    assert_eq!(town.received(), ["second", "first", "third"]);
    let receipt = |text: &str| {
        let listed = town.listed();
        let found = listed.iter().find(|nudge| nudge["text"] == text).cloned();
        found.unwrap_or_else(|| panic!("{text} is not in {listed:?}"))["receipt"].clone()
    };
    assert_eq!(receipt("first"), "delivered");
    assert_eq!(receipt("second"), "delivered");
    assert_eq!(receipt("too late"), "expired");
    let shown = town.project.call(&["nudge", "--list"]).ok().text();
    assert!(shown.contains("agent") && shown.contains("expired"), "{shown}");
}

/// P9: at most fifty texts wait for one session; more are refused.
#[test]
fn the_queue_has_a_limit() {
    let town = Town::new(Kept::Own, &["paste", "busy=HERE/go"]);
    for number in 0..50 {
        let text = format!("nr {number}");
        assert_eq!(town.say(&text, &["--mode", "queue"])["receipt"], "queued");
    }
    let answer = town.nudge(&["--mode", "queue", "one more"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    assert!(answer.stderr.contains("refused"), "{answer:?}");
}

in_every_terminal! {
    /// P9: Escape or Ctrl-C is pressed before the text, and separately.
    keys_before: wake_and_interrupt_in_our_terminal wake_and_interrupt_in_tmux
}

fn keys_before(kept: Kept) {
    let town = Town::new(kept, &["paste", "busy=HERE/never"]);
    town.nudge(&["--wake", "wake up"]).ok();
    town.nudge(&["--interrupt", "stop it"]).ok();
    town.until_received("stop it");
    assert_eq!(town.received(), ["escaped", "wake up", "interrupted", "stop it"]);
}

in_every_terminal! {
    /// P9: delivery is recognised without a cursor and with a clock on the screen.
    without_cursor: one_without_a_cursor_in_our_terminal one_without_a_cursor_in_tmux
}

fn without_cursor(kept: Kept) {
    let town = Town::new(kept, &["paste", "hidden", "clock"]);
    town.nudge(&["hello", "4711"]).ok();
    town.until_received("hello 4711");
    let town = Town::new(kept, &["paste", "hidden", "clock", "deaf"]);
    assert_eq!(town.nudge(&["hello"]).code, 1);
    assert!(town.received().is_empty());
}

in_every_terminal! {
    /// P9: a text that a hanging program has not read is removed: it does not arrive later together with another.
    hanging: one_that_hangs_in_our_terminal one_that_hangs_in_tmux
}

fn hanging(kept: Kept) {
    let town = Town::new(kept, &["paste", "hang=HERE/go"]);
    for text in ["short".to_owned(), "long ".repeat(4_000)] {
        let answer = town.say(&text, &["--mode", "immediate"]);
        assert_eq!(answer["receipt"], "refused", "{answer}");
    }
    std::fs::write(town.project.path("go"), "").expect("a file");
    town.nudge(&["awake?"]).ok();
    town.until_received("awake?");
    assert_eq!(town.received(), ["awake?"]);
}

in_every_terminal! {
    /// P9, R10: a text is not delivered if the program exits during it.
    ends_without_a_supervisor: a_program_that_ends_meanwhile_in_our_terminal a_program_that_ends_meanwhile_in_tmux
}

fn ends_without_a_supervisor(kept: Kept) {
    let town = Town::new(kept, &["blind"]);
    let speaking =
        town.project.spawn(&["nudge", "agent", "--mode", "immediate", "--json", "hello"]);
    until_typing(&town);
    town.project.call(&["stop", "agent"]).ok();
    let answer = speaking.finish();
    assert_eq!(answer.code, 1, "{answer:?}");
    assert_eq!(answer.json()["receipt"], "refused", "{answer:?}");
    assert!(town.received().is_empty());
    let answer = town.nudge(&["hello"]);
    assert_eq!(answer.code, 3, "{answer:?}");
}

in_every_terminal! {
    /// P9: when the supervisor dies meanwhile, no text is lost or repeated.
    supervisor_dies: a_supervisor_that_dies_meanwhile_in_our_terminal a_supervisor_that_dies_meanwhile_in_tmux
}

fn supervisor_dies(kept: Kept) {
    let town = Town::new(kept, &["paste"]);
    for number in 0..3 {
        let text = format!("are you there, {number}?");
        let speaking = town.project.spawn(&["nudge", "agent", "--json", &text]);
        // The delay between the two events, not a wait for something.
        std::thread::sleep(std::time::Duration::from_millis(60 * number));
        eventually("a supervisor", || town.project.home.supervisor());
        town.project.home.kill_supervisor();
        let answer = speaking.finish_within(std::time::Duration::from_secs(90));
        let is_delivered = answer.code == 0 && answer.json()["receipt"] == "delivered";
        let times = town.received().iter().filter(|received| **received == text).count();
        assert!(times <= 1, "{times} times {text:?}: {answer:?}");
        assert!(!is_delivered || times == 1, "{text:?} did not arrive: {answer:?}");
    }
    town.nudge(&["still there?"]).ok();
    town.until_received("still there?");
}

in_every_terminal! {
    /// P9: the text of a `nudge` that was killed before Enter is not sent with the next text.
    half_done: half_a_text_is_cleared_in_our_terminal half_a_text_is_cleared_in_tmux
}

fn half_done(kept: Kept) {
    let town = Town::new(kept, &["paste", "deaf"]);
    let speaking = town.project.spawn(&["nudge", "agent", "--mode", "immediate", "half a text"]);
    until_typing(&town);
    speaking.signal(Signal::KILL);
    drop(speaking);
    let answer = town.say("another", &["--mode", "immediate"]);
    assert_eq!(answer["receipt"], "refused", "{answer}");
    assert!(answer["why"].as_str().expect("a reason").contains("cleared"), "{answer}");
}

/// Waits until a text is being typed.
fn until_typing(town: &Town) {
    let note = town.project.home.file("nudges/agent.typing");
    eventually("a text is being typed", || note.exists().then_some(()));
}

/// P9, X1: an invalid nudge is an error with the remedy.
#[test]
fn invalid_nudges_are_errors() {
    let project = Project::of(&[("silent", "command = [\"sleep\", \"600\"]")]);
    let before = project.call(&["nudge", "silent", "hello"]);
    assert_eq!(before.code, 3, "{before:?}");
    project.up();
    let output = |arguments: &[&str], code: i32, word: &str| {
        let answer = project.call(&[&["nudge"], arguments].concat());
        assert_eq!(answer.code, code, "{arguments:?}: {answer:?}");
        assert!(answer.stderr.contains(word), "{arguments:?}: {answer:?}");
    };
    output(&["silent", "hello"], 1, "backend = \"pty\"");
    output(&["silent", "--mode", "queue", "hello"], 1, "backend = \"pty\"");
    output(&["nobody", "hello"], 4, "no unit named");
    output(&["silent", " "], 2, "empty");
    output(&["silent", "hello", "--expires", "soon"], 2, "duration");
    output(&[], 2, "NAME");
    project.call(&["stop", "silent"]).ok();
    output(&["silent", "hello"], 3, "is not running");
}
