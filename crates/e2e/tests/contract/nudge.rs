//! Texts into terminals, each with a receipt that is true.

use crate::nudge_setup::{Kept, Town, in_every_terminal};
use crate::nudge_texts::{Dice, text, typed};
use crate::units::Project;
use ostler_e2e::{Background, Signal, eventually};
use std::collections::HashMap;

in_every_terminal! {
    /// P9: it is delivered once it was seen, and says who speaks; a person need not.
    delivered: a_text_arrives_in_our_terminal a_text_arrives_in_tmux
}

fn delivered(kept: Kept) {
    let town = Town::new(kept, &["paste"]);
    let description = town.nudge(&["check", "your inbox"]).ok().text();
    assert!(description.starts_with("delivered"), "{description}");
    town.until_received("check your inbox");
    town.nudge(&["--as", "mayor", "hello"]).ok();
    town.until_received("[from mayor] hello");
    town.nudge(&["--as", "mayor", "--raw", "line one\nline two"]).ok();
    town.until_received("line one\nline two");
    assert_eq!(town.received().len(), 3);
}

in_every_terminal! {
    /// P9: texts of every kind arrive exactly once and as they are, or their receipt says otherwise.
    many_texts: any_text_arrives_once_in_our_terminal any_text_arrives_once_in_tmux
}

/// OSTLER_NUDGES makes it as many as one likes.
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
    // An Enter that had to be pressed again is an empty message.
    received.remove("");
    assert!(received.is_empty(), "more than was said: {received:?}");
    assert!(refused.len() * 50 <= count, "{} of {count} were refused: {refused:?}", refused.len());
    eprintln!("{count} texts ({kept:?}, {words:?}), {} refused", refused.len());
}

in_every_terminal! {
    /// P9: of twenty that speak at once, each is heard whole and once.
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
    // Those that waited for too long are in the queue, and come before whoever speaks next.
    eventually("nothing waits", || {
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
    /// P9: a program that does not take Enter has not been told anything, and is left as it was.
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
    /// P9: what is not shown is not sent: it may be a password that is asked for.
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
    /// P9: a menu is not answered; who can wait, waits.
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
    /// P9: what is said to one that works waits, the urgent first, and is typed before whoever speaks when it is idle.
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

/// P9: no more wait for one session than fifty; what is too much is refused.
#[test]
fn the_queue_has_an_end() {
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
    /// P9: Escape or Ctrl-C comes before the text, and apart from it.
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
    /// P9: without a cursor and with a clock beside it, it is still seen what was taken.
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
    /// P9: what one that hangs has not read is taken back: it does not arrive later, with another's text behind it.
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
    /// P9, R10: one whose program ends under the text has not been told it.
    ended_meanwhile: a_program_that_ends_meanwhile_in_our_terminal a_program_that_ends_meanwhile_in_tmux
}

fn ended_meanwhile(kept: Kept) {
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
    /// P9: a supervisor that dies meanwhile takes no text with it, and adds none.
    supervisor_dies: a_supervisor_that_dies_meanwhile_in_our_terminal a_supervisor_that_dies_meanwhile_in_tmux
}

fn supervisor_dies(kept: Kept) {
    let town = Town::new(kept, &["paste"]);
    for number in 0..3 {
        let text = format!("are you there, {number}?");
        let speaking = town.project.spawn(&["nudge", "agent", "--json", &text]);
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
    /// P9: what somebody typed who was killed before Enter is not sent with the next text.
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

/// Somebody is at it.
fn until_typing(town: &Town) {
    let note = town.project.home.file("nudges/agent.typing");
    eventually("something is typed", || note.exists().then_some(()));
}

/// P9, X1: what cannot be said is told, with what would be right.
#[test]
fn wrong_nudges_are_told() {
    let project = Project::of(&[("silent", "command = [\"sleep\", \"600\"]")]);
    let before = project.call(&["nudge", "silent", "hello"]);
    assert_eq!(before.code, 3, "{before:?}");
    project.up();
    let description = |arguments: &[&str], code: i32, word: &str| {
        let answer = project.call(&[&["nudge"], arguments].concat());
        assert_eq!(answer.code, code, "{arguments:?}: {answer:?}");
        assert!(answer.stderr.contains(word), "{arguments:?}: {answer:?}");
    };
    description(&["silent", "hello"], 1, "backend = \"pty\"");
    description(&["silent", "--mode", "queue", "hello"], 1, "backend = \"pty\"");
    description(&["nobody", "hello"], 4, "no unit named");
    description(&["silent", " "], 2, "empty");
    description(&["silent", "hello", "--expires", "soon"], 2, "duration");
    description(&[], 2, "NAME");
    project.call(&["stop", "silent"]).ok();
    description(&["silent", "hello"], 3, "is not running");
}
