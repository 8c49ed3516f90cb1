//! Units that end repeatedly are not started too often.

use ostler_e2e::{Home, eventually};
use serde_json::Value;
use std::os::unix::fs::chown;

/// Writes the file beside the home, owned by the home's user.
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
    let found = listed.as_array().and_then(|all| all.iter().find(|view| view["unit"] == unit));
    found.cloned().unwrap_or_else(|| panic!("no {unit} in {listed}"))
}

fn lines(home: &Home, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(home.folder().join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// W1: a unit that always exits with 75 is started twice at once, then it waits as after a failure; `up`
/// returns, the delay is shown with its end, and the journal of another unit is kept.
#[test]
fn exit_75_is_slowed_down() {
    for home in crate::both() {
        let file = declare(
            &home,
            "[units.other]\ncommand = [\"sleep\", \"1000\"]\n\n\
             [units.storm]\ncommand = [\"sh\", \"-c\", \"echo x >> ran; exit 75\"]\n",
        );
        let up = home.ostler(&["up", "-f", &file, "--json"]);
        assert!(up.code == 0 || up.code == 1, "`up` returns: {up:?}");
        let waits = eventually("the unit waits", || {
            Some(view(&home, "storm")).filter(|view| view["state"] == "backoff")
        });
        let next = waits["nextAtMs"].as_u64().expect("the time of the next start is known");
        assert!(next > waits["sinceAtMs"].as_u64().expect("a time"), "{waits}");
        assert!(waits["why"].as_str().is_some_and(|why| why.contains("exit 75")), "{waits}");
        // The second delay is 2 s: by then there were three starts.
        eventually("the delay doubles", || {
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
            // The times are those at which the program read the clock, not those of its starts.
            let took_ms = (window[10] - window[0]) / 1_000_000;
            assert!(took_ms > 700, "eleven starts in {took_ms} ms");
        }
    }
}

/// W19: a restart that is asked for when the unit was started ten times within a second says so, and not that the unit
/// failed; the unit is started in its turn.
#[test]
fn a_restart_too_many_waits_its_turn() {
    for home in crate::both() {
        home.ostler(&["start", "--name", "web", "--", "sleep", "6401"]).ok();
        for _ in 0..14 {
            let restarted = home.ostler(&["restart", "web"]);
            let has_reason = restarted.text().contains("too many starts within 1 s");
            assert!(restarted.code == 0 || has_reason, "{restarted:?}");
        }
        eventually("it runs", || (view(&home, "web")["state"] == "ready").then_some(()));
        home.stop();
    }
}

/// W9: an exit without a failure is no crash, also if `when = "always"` restarts the unit.
#[test]
fn on_crash_runs_for_crashes_only() {
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
    let output = eventually("the crash hook ran", || {
        let output = std::fs::read_to_string(hook).unwrap_or_default();
        output.contains("exit 1").then_some(output)
    });
    assert!(lines(&home, "ran").len() >= 5, "the unit exited with 0 repeatedly");
    assert!(!output.contains("exit 0"), "{output}");
}
