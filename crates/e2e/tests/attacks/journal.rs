//! A journal of millions of entries: read in small pieces, kept within its bounds.

use ostler_e2e::{Home, Registry, eventually};
use serde_json::Value;

/// So many entries of this unit, written and counted as by a supervisor.
fn fill(home: &Home, unit: &str, count: u32) {
    let why = format!("exit 1: {}", "x".repeat(120));
    Registry::open(home)
        .connection
        .execute_batch(&format!(
            "INSERT INTO entries (at_ms, who, what, run_id, why, evidence, unit)
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
             SELECT unixepoch() * 1000, '{{\"kind\":\"supervisor\"}}', 'unit-again', NULL, '{why}',
                    '{{\"unit\":\"{unit}\",\"number\":' || i || '}}', '{unit}' FROM n;
             INSERT INTO stories (story, count, bytes)
             SELECT story, count(*), sum(200 + length(CAST(who AS BLOB)) + length(CAST(why AS BLOB))
                 + length(CAST(evidence AS BLOB)))
             FROM entries WHERE true GROUP BY story
             ON CONFLICT (story) DO UPDATE SET count = excluded.count, bytes = excluded.bytes"
        ))
        .expect("filled");
}

/// The most memory that the process ever had, in MiB.
fn peak_mib(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find(|line| line.starts_with("VmHWM")).expect("a peak");
    line.split_whitespace().nth(1).expect("a number").parse::<u64>().expect("a number") / 1_024
}

fn unit(home: &Home, name: &str, command: &[&str]) {
    home.ostler(&[&["start", "--no-wait", "--name", name, "--"], command].concat()).ok();
}

/// R27: every entry is printed, and neither the supervisor nor the client holds more than a slice of them.
#[test]
fn a_long_journal_is_read_in_slices() {
    const COUNT: u32 = 30_000;
    let home = Home::with(&[
        ("OSTLER_JOURNAL_ROWS", "100000000"),
        ("OSTLER_JOURNAL_BYTES", "100000000000"),
    ]);
    unit(&home, "web", &["sleep", "1000"]);
    fill(&home, "web", COUNT);
    let supervisor = home.supervisor_pid();
    let before = peak_mib(supervisor);
    for verb in ["events", "events --json", "why web --all", "why web --json"] {
        let script = format!("set -o pipefail; ulimit -v 80000; \"$0\" {verb} | wc -c");
        let mut command = home.program("bash");
        command.args(["-c", &script]).arg(Home::binary());
        let output = home.spawn_program(command).finish();
        let printed: u64 = output.text().trim().parse().unwrap_or(0);
        assert!(printed > u64::from(COUNT) * 150, "{verb}: {printed} bytes, {output:?}");
    }
    home.spawn(&["events", "-f"]).until_written(&format!("number={COUNT}"));
    let last = home.ostler(&["events", "--last", "3", "--json"]).ok().json();
    assert_eq!(last.as_array().map(Vec::len), Some(3));
    let why = home.ostler(&["why", "web"]).ok().text();
    assert!(why.contains("the last 50 events") && why.lines().count() < 60, "{why}");
    let grown = peak_mib(supervisor) - before;
    assert!(grown <= 16, "the supervisor grew by {grown} MiB");
}

/// R27: the limits are applied at the next start, the file shrinks, and entries of the largest unit are removed.
#[test]
fn a_journal_that_is_too_long_loses_entries_of_the_largest_unit() {
    for mut home in crate::both() {
        home.set("OSTLER_JOURNAL_ROWS", "2000");
        unit(&home, "quiet", &["sleep", "1000"]);
        home.stop();
        fill(&home, "storm", 60_000);
        // The writer keeps the sums; the file must stay writable for the ordinary user.
        let size = || std::fs::metadata(home.registry_file()).expect("a file").len();
        let before = size();
        home.ostler(&["start"]).ok();
        eventually("the journal is within its bounds", || {
            let registry = Registry::open(&home);
            let storm = registry.number("SELECT count(*) FROM entries WHERE unit = 'storm'");
            (storm <= 200).then_some(())
        });
        eventually("the file shrinks", || (size() < before / 2).then_some(()));
        let quiet = home.ostler(&["why", "quiet"]).ok().text();
        assert!(quiet.contains("declared: new unit"), "{quiet}");
        let oldest = home.ostler(&["events", "--json"]).ok().json();
        let kept = oldest.as_array().expect("a list").iter();
        let numbers: Vec<u64> =
            kept.filter_map(|event| event["evidence"]["number"].as_u64()).collect();
        assert_eq!(numbers.last(), Some(&60_000), "the newest stay");
    }
}

/// R27: a unit that crashes for hours removes neither the runs nor the entries of another one.
#[test]
fn a_crash_loop_removes_no_history_of_other_units() {
    let home = Home::with(&[("OSTLER_JOURNAL_ROWS", "1000"), ("OSTLER_HISTORY_COUNT", "10")]);
    unit(&home, "quiet", &["true"]);
    eventually("the crash loop is over", || {
        let done = home.ostler(&["why", "quiet", "--json"]).ok().json();
        (done["unit"]["state"] == "done").then_some(())
    });
    let file = home.folder().join("ostler.toml");
    std::fs::write(
        &file,
        "[units.loop]\ncommand = [\"false\"]\nrestart = { initial = \"0\", limit = { count = 0, window = \"1s\" } }\n",
    )
    .expect("written");
    home.ostler(&["up", "--no-wait", "-f", file.to_str().expect("text")]).ok();
    let entries = |unit: &str| -> Vec<Value> {
        let story = home.ostler(&["why", unit, "--json"]).ok().json();
        story["events"].as_array().expect("a list").clone()
    };
    eventually("the oldest entries of the loop are removed", || {
        let story = entries("loop");
        (!story.iter().any(|event| event["what"] == "unit-declared")).then_some(())
    });
    home.ostler(&["stop", "loop"]).ok();
    let quiet = entries("quiet");
    for what in ["unit-declared", "spawned", "exited", "unit-over"] {
        assert!(quiet.iter().any(|event| event["what"] == what), "{what}: {quiet:#?}");
    }
    assert!(home.records().iter().any(|run| run["unit"] == "quiet"), "its run is still recorded");
}
