//! Output is shown after any process was killed, and its total size is bounded.

use crate::both;
use ostler_e2e::{Home, eventually, is_installed, skipped};
use serde_json::Value;
use std::path::Path;

/// What `seq 1 40` writes.
fn forty() -> String {
    (1..=40).map(|number| format!("{number}\n")).collect()
}

fn lines(home: &Home, name: &str) -> String {
    home.ostler(&["logs", name]).ok().text().replace('\r', "")
}

/// R30: guardian and supervisor are killed together; what the run had written is there.
#[test]
fn output_is_shown_after_guardian_and_supervisor_were_killed_together() {
    for home in both() {
        for options in [&[][..], &["--pty"]] {
            let script = "seq 1 40; exec sleep 1000";
            let run = home.start(options, &["sh", "-c", script]);
            home.until_logged(&run, "40");
            home.kill_daemon();
            home.ostler(&["start"]).ok();
            assert_eq!(lines(&home, &run), forty(), "{options:?}, just after it");
            // A terminal is gone with those who held it; a run on pipes lives.
            home.ostler(&["cancel", &run]);
            assert_eq!(lines(&home, &run), forty(), "{options:?}, when it has ended");
            home.kill_supervisor();
            home.ostler(&["start"]).ok();
            assert_eq!(lines(&home, &run), forty(), "{options:?}, under another supervisor");
        }
        home.stop();
    }
}

/// R30: the same for units, on pipes, on a terminal and in tmux.
#[test]
fn output_of_units_is_shown_after_both_were_killed() {
    for mut home in both() {
        let folder = home.folder().to_str().expect("text").to_owned();
        home.set("TMUX_TMPDIR", &folder);
        home.set("HOME", &folder);
        let mut backends = vec!["pipe", "pty"];
        if is_installed("tmux") {
            backends.push("tmux");
        } else {
            skipped("tmux is not installed");
        }
        let units: String = backends
            .iter()
            .map(|backend| {
                format!(
                    "[units.{backend}]\ncommand = ['sh', '-c', 'seq 1 40; exec sleep 1000']\nbackend = '{backend}'\nrestart = {{ when = 'never' }}\n"
                )
            })
            .collect();
        let file = home.folder().join("ostler.toml");
        std::fs::write(&file, units).expect("written");
        home.ostler(&["up", "-f", file.to_str().expect("text")]).ok();
        for unit in &backends {
            home.until_logged(unit, "40");
        }
        home.kill_daemon();
        home.ostler(&["start"]).ok();
        for unit in backends {
            // One in tmux is heard anew by a shim of its own: what it shows is what was there.
            let shown = lines(&home, unit);
            assert!(shown.contains(&forty()), "{unit}: {shown:?}");
        }
        home.stop();
    }
}

fn on_disk(runs: &Path) -> u64 {
    let folders = std::fs::read_dir(runs).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten());
    files.flatten().filter_map(|file| Some(file.metadata().ok()?.len())).sum()
}

/// R31: the output of all runs together has a bound; the oldest goes first, that of failures last.
#[test]
fn output_of_all_runs_together_has_a_bound() {
    let home = Home::with(&[("OSTLER_OUTPUT_BYTES", "4000000")]);
    let run = |script: &str| home.run(&[], &["sh", "-c", script])["runId"].clone();
    let text = |id: &Value| id.as_str().expect("an id").to_owned();
    let failed = text(&run("echo it went wrong; head -c 300000 /dev/zero; exit 3"));
    let fill = "head -c 500000 /dev/zero";
    let oldest = text(&run(fill));
    let mut newest = oldest.clone();
    for _ in 0..20 {
        newest = text(&run(fill));
    }
    // Two more of them may have been written until it was noticed.
    eventually("there is no more than may be", || {
        (on_disk(&home.file("runs")) <= 6_000_000).then_some(())
    });
    let dropped = eventually("the journal has it", || {
        home.events(&oldest).into_iter().find(|event| event["what"] == "output-dropped")
    });
    assert_eq!(dropped["evidence"]["mostBytes"], 4_000_000, "{dropped}");
    assert_eq!(home.record(&oldest)["state"], "exited", "its record stays");
    assert!(lines(&home, &failed).contains("it went wrong"), "a failure is kept for longest");
    assert_eq!(lines(&home, &newest).len(), 500_000);
    assert_eq!(home.count(&failed, "output-dropped"), 0);
    assert_eq!(home.metric("output_most_bytes", None), 4_000_000);
    assert!(home.metric("output_kept_bytes", None) <= 6_000_000);
    let doctor = home.ostler(&["doctor"]).text();
    assert!(doctor.contains("of at most 3.8M stored"), "{doctor}");
}

/// R31: live runs keep to it together as well.
#[test]
fn output_of_live_runs_together_has_a_bound() {
    let home = Home::with(&[("OSTLER_OUTPUT_BYTES", "4000000")]);
    let script = "head -c 3500000 /dev/zero; echo; echo written; exec sleep 615";
    let runs: Vec<String> = (0..4).map(|_| home.start(&[], &["sh", "-c", script])).collect();
    for run in &runs {
        home.until_logged(run, "written");
    }
    eventually("there is no more than may be", || {
        (on_disk(&home.file("runs")) <= 7_000_000).then_some(())
    });
    for run in &runs {
        assert!(lines(&home, run).contains("written"), "{run}");
        assert_eq!(home.record(run)["state"], "running");
    }
}
