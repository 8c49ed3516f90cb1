//! Units that end again and again: never a storm of starts.

use ostler_e2e::{Home, eventually};
use serde_json::Value;
use std::os::unix::fs::chown;

/// Writes the file beside the home, owned by whoever the home is of.
fn declare(home: &Home, units: &str) -> String {
    let path = home.folder().join("ostler.toml");
    std::fs::write(&path, units).expect("written");
    if let Ok(folder) = std::fs::metadata(home.folder()) {
        use std::os::unix::fs::MetadataExt;
        let _ = chown(&path, Some(folder.uid()), Some(folder.gid()));
    }
    path.to_str().expect("text").to_owned()
}

fn view(home: &Home, unit: &str) -> Value {
    let listed = home.ostler(&["ls", "--all", "--json"]).ok().json();
    let found = listed.as_array().and_then(|all| all.iter().find(|view| view["name"] == unit));
    found.cloned().unwrap_or_else(|| panic!("no {unit} in {listed}"))
}

fn lines(home: &Home, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(home.folder().join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// W1: a unit that only ever says "start me again" is started twice at once, then it waits as after a failure; `up`
/// returns, the wait is shown with its end, and the story of another unit stays.
#[test]
fn exit_75_is_no_storm() {
    for home in crate::both() {
        let file = declare(
            &home,
            "[units.other]\ncommand = [\"sleep\", \"1000\"]\n\n\
             [units.storm]\ncommand = [\"sh\", \"-c\", \"echo x >> ran; exit 75\"]\n",
        );
        let up = home.ostler(&["up", "-f", &file, "--json"]);
        assert!(up.code == 0 || up.code == 1, "it returns: {up:?}");
        let waits = eventually("it waits", || {
            Some(view(&home, "storm")).filter(|view| view["state"] == "backoff")
        });
        let next = waits["nextAtMs"].as_u64().expect("it is known when it is started again");
        assert!(next > waits["sinceMs"].as_u64().expect("a time"), "{waits}");
        assert!(waits["why"].as_str().is_some_and(|why| why.contains("exit 75")), "{waits}");
        // The second wait is of 2 s: by then there were three starts.
        eventually("the wait doubles", || {
            let story = home.ostler(&["why", "storm", "--json"]).ok().json();
            let waited: Vec<u64> = story["events"]
                .as_array()?
                .iter()
                .filter_map(|event| event["evidence"]["waitMs"].as_u64())
                .collect();
            (waited == [1_000, 2_000]).then_some(())
        });
        assert_eq!(lines(&home, "ran").len(), 3);
        let other = home.ostler(&["why", "other"]).ok().text();
        assert!(other.contains("declared: new unit"), "{other}");
    }
}

/// W19: no unit is started more than ten times in a second, whatever its policy says.
#[test]
fn a_policy_without_any_wait_is_held_to_ten_starts_a_second() {
    for home in crate::both() {
        let file = declare(
            &home,
            "[units.storm]\ncommand = [\"sh\", \"-c\", \"date +%s%N >> ran; exit 1\"]\n\
             restart = { initial = \"0\", limit = { count = 0, window = \"1s\" } }\n",
        );
        home.ostler(&["up", "-f", &file, "--no-wait"]).ok();
        let began = eventually("many starts", || {
            let lines = lines(&home, "ran");
            (lines.len() >= 32).then_some(lines)
        });
        home.ostler(&["stop", "storm"]).ok();
        let began: Vec<u64> = began.iter().map(|line| line.parse().expect("a time")).collect();
        for window in began.windows(11) {
            // What is told is when the program looked at the clock, not when it was started.
            let took_ms = (window[10] - window[0]) / 1_000_000;
            assert!(took_ms > 700, "eleven starts in {took_ms} ms");
        }
    }
}

/// W9: an end that is none of its fault is no crash, also where `when = "always"` starts it again.
#[test]
fn on_crash_is_told_of_crashes_only() {
    let home = Home::new();
    let hook = home.folder().join("told");
    let hook = hook.to_str().expect("text");
    let file = declare(
        &home,
        &format!(
            "[hooks]\non_crash = [\"sh\", \"-c\", \"echo $OSTLER_UNIT $OSTLER_WHY >> {hook}\"]\n\n\
             [units.clean]\ncommand = [\"sh\", \"-c\", \"echo x >> ran; exit 0\"]\n\
             restart = {{ when = \"always\", initial = \"50ms\", max = \"50ms\", limit = {{ count = 0, window = \"1s\" }} }}\n\n\
             [units.crash]\ncommand = [\"sh\", \"-c\", \"until test -e ran && test $(wc -l < ran) -ge 5; do sleep 0.02; done; exit 1\"]\n"
        ),
    );
    home.ostler(&["up", "-f", &file, "--no-wait"]).ok();
    let description = eventually("the crash is told", || {
        let description = std::fs::read_to_string(hook).unwrap_or_default();
        description.contains("exit 1").then_some(description)
    });
    assert!(lines(&home, "ran").len() >= 5, "it ended with 0 again and again");
    assert!(!description.contains("exit 0"), "{description}");
}
