//! X2, X3: `ls`, `status`, `why`, `logs` and `crashes` of units.

use crate::daemon::setup::QUICK;
use ostler_e2e::{Background, Home, Output, Signal, Terminal, eventually};
use serde_json::Value;

/// A home with one file of units beside it.
pub struct Seen {
    pub home: Home,
}

impl Seen {
    pub fn of(units: &[(&str, &str, &str)]) -> Self {
        let seen = Self { home: Home::with(&[QUICK]) };
        seen.declare(units);
        seen
    }

    /// Declares units by name, shell script and further keys.
    pub fn declare(&self, units: &[(&str, &str, &str)]) {
        let variable = self.home.variable();
        let (name, value) = variable.split_once('=').expect("a variable");
        let mut text = String::new();
        for (unit, script, rest) in units {
            text += &format!(
                "[units.{unit}]\ncommand = [\"sh\", \"-c\", {script:?}]\nenv.{name} = {value:?}\n{rest}\n"
            );
        }
        std::fs::write(self.home.folder().join("ostler.toml"), text).expect("written");
    }

    pub fn spawn(&self, arguments: &[&str]) -> Background {
        let mut command = self.home.command(arguments);
        command.current_dir(self.home.folder());
        self.home.spawn_program(command)
    }

    pub fn call(&self, arguments: &[&str]) -> Output {
        self.spawn(arguments).finish()
    }

    #[track_caller]
    pub fn up(self) -> Self {
        self.call(&["up"]).ok();
        self
    }

    #[track_caller]
    pub fn view(&self, name: &str) -> Value {
        let views = self.call(&["ls", "--json"]).ok().json();
        let views = views.as_array().expect("a list").clone();
        views.into_iter().find(|view| view["unit"] == name).expect("the unit")
    }

    /// The output on a terminal of this size.
    pub fn shown(&self, arguments: &[&str], columns: u16, variables: &[(&str, &str)]) -> String {
        let mut command = self.home.command(arguments);
        command.current_dir(self.home.folder()).envs(variables.iter().copied());
        Terminal::start(command, columns, 24).finish().1.replace('\r', "")
    }
}

const SLEEP: &str = "echo up; exec sleep 1000";
/// Restarts at once, without a limit.
const AT_ONCE: &str = "restart = { initial = \"0\", limit = { count = 0, window = \"1s\" } }";
/// Restarts soon; the breaker opens at the third failure.
const SOON: &str =
    "restart = { initial = \"50ms\", max = \"50ms\", limit = { count = 3, window = \"10s\" } }";

/// X2: `ls` prints the state, the reason, and the usage of the whole tree.
#[test]
fn ls_prints_state_reason_and_usage_of_units() {
    let seen = Seen::of(&[
        ("bot", "sleep 1000 & sleep 1000 & wait", ""),
        ("db", SLEEP, "ready = { line = \"never\", timeout = \"60s\" }"),
        ("web", SLEEP, "depends_on = [\"db\"]"),
    ]);
    seen.call(&["up", "--no-wait"]).ok();
    eventually("all three processes of the tree are seen", || {
        let usage = seen.view("bot")["usage"].clone();
        (usage["processes"] == 3 && usage["memoryBytes"].as_u64()? > 0).then_some(())
    });
    let table = seen.call(&["ls", "--usage"]).ok().text();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(
        lines[0].split_whitespace().collect::<Vec<_>>(),
        ["UNIT", "STATE", "WHY", "PID", "UPTIME", "RESTARTS", "CPU", "MEMORY"]
    );
    assert!(lines[1].starts_with("bot") && lines[1].contains('%'), "{table}");
    assert!(lines[3].contains("waiting") && lines[3].contains("waiting for db"), "{table}");
    assert!(!table.contains('\x1b'), "no colours where there is no terminal: {table:?}");
}

/// X2: the table fits the terminal; colours are printed only on a terminal, and not with NO_COLOR.
#[test]
fn ls_fits_the_terminal_and_colours_can_be_off() {
    let long = "depends_on = [\"database-with-a-very-long-name\", \"another-long-name-here\"]";
    let never = "ready = { line = \"never\", timeout = \"60s\" }";
    let seen = Seen::of(&[
        ("database-with-a-very-long-name", SLEEP, never),
        ("another-long-name-here", SLEEP, never),
        ("web", SLEEP, long),
    ]);
    seen.call(&["up", "--no-wait"]).ok();
    for columns in [200, 80, 40, 20] {
        let table = seen.shown(&["ls"], columns, &[("NO_COLOR", "1")]);
        assert!(!table.contains('\x1b'), "{table:?}");
        for line in table.lines() {
            assert!(line.chars().count() <= usize::from(columns), "{columns}: {line:?}");
        }
        assert_eq!(table.lines().count(), 4, "one line each: {table}");
    }
    assert!(seen.shown(&["ls"], 80, &[]).contains("\x1b[33mstarting\x1b[0m"));
}

/// X2: `status NAME` prints all facts of a unit, and its exit code says whether it runs.
#[test]
fn status_prints_all_facts_of_a_unit() {
    let seen =
        Seen::of(&[("bot", "echo hello; sleep 1000 & wait", ""), ("once", "exit 0", "")]).up();
    let status = eventually("the tree is complete", || {
        let status = seen.call(&["status", "bot"]).ok().text();
        status.contains("└─").then_some(status)
    });
    for part in ["bot - sh", "State: ready since", "Wanted: running", "Main pid:", "CPU:", "hello"]
    {
        assert!(status.contains(part), "{part} is missing in:\n{status}");
    }
    let document = seen.call(&["status", "bot", "--json"]).ok().json();
    assert_eq!(document[0]["log"][0]["text"], "hello");
    assert_eq!(document[0]["usage"]["tree"].as_array().map(Vec::len), Some(2));
    seen.call(&["stop", "bot"]).ok();
    let stopped = seen.call(&["status", "bot"]);
    assert_eq!(stopped.code, 3, "{stopped:?}");
    assert!(stopped.text().contains("Wanted: stopped"), "{stopped:?}");
    let unknown = seen.call(&["status", "bit"]);
    assert_eq!(unknown.code, 4, "{unknown:?}");
    assert!(unknown.stderr.contains("did you mean bot?"), "{unknown:?}");
    let some = seen.call(&["status", "bit", "bot"]);
    assert!(some.code == 4 && some.text().contains("bot - sh"), "{some:?}");
}

/// X2: `status` starts no daemon.
#[test]
fn status_of_a_unit_starts_no_daemon() {
    let seen = Seen::of(&[]);
    assert_eq!(seen.call(&["status", "bot"]).code, 3);
    assert!(seen.home.supervisor().is_none());
}

/// X2: a changed file is reported until it is applied.
#[test]
fn status_reports_a_changed_declaration() {
    let seen = Seen::of(&[("bot", SLEEP, "")]).up();
    assert!(!seen.call(&["status", "bot"]).ok().text().contains("Changed:"));
    seen.declare(&[("bot", "echo new; exec sleep 1000", "")]);
    let status = seen.call(&["status", "bot"]).ok().text();
    assert!(
        status.contains("Changed: its file has changed; apply it with `ostler reload`"),
        "{status}"
    );
    seen.call(&["reload"]).ok();
    assert!(!seen.call(&["status", "bot"]).ok().text().contains("Changed:"));
    std::fs::write(seen.home.folder().join("ostler.toml"), "[units").expect("written");
    let status = seen.call(&["status", "bot"]).ok().text();
    assert!(status.contains("can no longer be read"), "{status}");
}

/// X2: an open breaker has its reason and the command that closes it; `crashes` and `why` print the cause.
#[test]
fn an_open_breaker_has_its_reason_and_remedy() {
    let seen = Seen::of(&[("bad", "echo oops; exit 7", SOON), ("good", SLEEP, "")]);
    let _ = seen.call(&["up"]);
    eventually("the breaker opens", || (seen.view("bad")["state"] == "error").then_some(()));
    let status = seen.call(&["status", "bad"]);
    assert_eq!(status.code, 3);
    let output = status.text();
    assert!(
        output.contains("Breaker: open since") && output.contains("`ostler start bad`"),
        "{output}"
    );
    assert!(output.contains("Ended:") && output.contains("exit 7 after"), "{output}");
    let crashes = seen.call(&["crashes", "bad", "--json"]).ok().json();
    let crashes = crashes.as_array().expect("a list");
    assert!(crashes.len() >= 3, "{crashes:?}");
    assert!(crashes.windows(2).all(|pair| pair[0]["atMs"].as_u64() >= pair[1]["atMs"].as_u64()));
    assert_eq!(crashes[0]["description"], "exit 7");
    assert_eq!(crashes[1]["then"], "restarted after 50 ms");
    let table = seen.call(&["crashes"]).ok().text();
    assert!(table.starts_with("TIME") && table.contains("exit 7"), "{table}");
    assert_eq!(seen.call(&["crashes", "good"]).ok().text(), "no unit has exited by itself\n");
    assert_eq!(seen.call(&["crashes", "bda"]).code, 4);
    let why = seen.call(&["why", "bad"]).ok().text();
    let at = |text: &str| why.find(text).unwrap_or_else(|| panic!("{text} in:\n{why}"));
    assert!(at("declared: new unit") < at("restarting: "));
    assert!(at("restarting: ") < at("breaker opened: "));
}

/// X2: `why` also works for a unit that never ran; it prints the last events, or all.
#[test]
fn why_of_a_unit_that_waits_and_of_one_with_many_events() {
    let seen = Seen::of(&[
        ("db", SLEEP, "ready = { line = \"never\", timeout = \"60s\" }"),
        ("web", SLEEP, "depends_on = [\"db\"]"),
        ("loop", "exit 1", AT_ONCE),
    ]);
    seen.call(&["up", "--no-wait"]).ok();
    let why = seen.call(&["why", "web"]).ok().text();
    assert!(why.contains("waiting for") && why.contains("waiting for db"), "{why}");
    assert!(why.contains("+0ms     declared"), "{why}");
    eventually("it has many events", || {
        (seen.view("loop")["restarts"].as_u64()? > 30).then_some(())
    });
    seen.call(&["stop", "loop"]).ok();
    let short = seen.call(&["why", "loop"]).ok().text();
    let all = seen.call(&["why", "--all", "loop"]).ok().text();
    assert!(short.contains("--all") && short.contains("+0ms"), "{short}");
    assert_eq!(short.lines().filter(|line| line.contains("  +")).count(), 50, "{short}");
    assert!(all.lines().count() > 100 && all.contains("declared: new unit"));
    assert_eq!(seen.call(&["why", "nonesuch"]).code, 4);
}

/// X2: `logs` of several units prints all lines in order of time, each with its unit's name.
#[test]
fn logs_of_several_units_are_interleaved_by_time() {
    let tick =
        |word: &str| format!("for i in 1 2 3; do echo {word}$i; sleep 0.3; done; exec sleep 1000");
    let seen = Seen::of(&[("a", &tick("a"), ""), ("long", &tick("b"), "")]).up();
    seen.home.until_logged("a", "a3");
    seen.home.until_logged("long", "b3");
    let log = seen.call(&["logs", "a", "long"]).ok().text();
    let mut lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 6, "{log}");
    assert!(log.contains("a    | a1\n") && log.contains("long | b1\n"), "{log}");
    let times = seen.call(&["logs", "--json", "a", "long"]).ok().json();
    let times: Vec<u64> = times
        .as_array()
        .expect("a list")
        .iter()
        .map(|line| line["atMs"].as_u64().expect("a time"))
        .collect();
    assert!(times.is_sorted(), "{times:?}");
    lines.truncate(2);
    assert_eq!(lines.iter().filter(|line| line.ends_with('1')).count(), 2, "{log}");
    let cut = seen.call(&["logs", "-n", "1", "--grep", "3", "a", "long"]).ok().text();
    assert_eq!(cut.lines().count(), 2, "{cut}");
    let painted = seen.shown(&["logs", "-n", "1", "a", "long"], 80, &[]);
    assert!(painted.contains("\x1b[36ma    |\x1b[0m a3"), "{painted:?}");
    let wrong = seen.call(&["logs", "a", "lang"]);
    assert!(wrong.code == 4 && wrong.stderr.contains("did you mean long?"), "{wrong:?}");
}

/// X2: `logs -f` of a unit also follows its next run, until the unit is stopped.
#[test]
fn logs_follow_a_unit_across_its_restarts() {
    let seen = Seen::of(&[
        ("bot", "echo begin $$; exec sleep 1000", AT_ONCE),
        ("other", "echo other; exec sleep 1000", ""),
    ])
    .up();
    let one = seen.spawn(&["logs", "-f", "bot"]);
    let both = seen.spawn(&["logs", "-f", "bot", "other"]);
    both.until_written("other | other");
    for _ in 0..3 {
        let pid = seen.view("bot")["pid"].as_i64().expect("a pid") as i32;
        one.until_written(&format!("begin {pid}\n"));
        both.until_written(&format!("bot   | begin {pid}\n"));
        ostler_e2e::signal(pid, Signal::KILL);
        eventually("the next one runs", || {
            let view = seen.view("bot");
            (view["pid"].is_i64() && view["pid"] != pid).then_some(())
        });
    }
    let previous = seen.call(&["logs", "--previous", "bot"]).ok().text();
    assert!(previous.starts_with("begin ") && previous.lines().count() == 1, "{previous}");
    let pid = seen.view("bot")["pid"].clone();
    assert!(!previous.contains(&pid.to_string()), "{previous}");
    seen.call(&["stop", "bot", "other"]).ok();
    assert_eq!(one.finish().ok().text().matches("begin").count(), 4);
    assert_eq!(both.finish().ok().text().matches("begin").count(), 4);
}

/// X2: `logs -f` of a unit that waits shows its first run.
#[test]
fn logs_follow_a_unit_that_never_ran() {
    let seen = Seen::of(&[
        (
            "db",
            "until [ -e go ]; do sleep 0.05; done; echo open; exec sleep 1000",
            "ready = { line = \"open\", timeout = \"60s\" }",
        ),
        ("web", SLEEP, "depends_on = [\"db\"]"),
    ]);
    seen.call(&["up", "--no-wait"]).ok();
    assert_eq!(seen.call(&["logs", "web"]).ok().text(), "");
    let following = seen.spawn(&["logs", "-f", "web"]);
    std::fs::write(seen.home.folder().join("go"), "").expect("written");
    following.until_written("up\n");
    seen.call(&["stop", "web"]).ok();
    following.finish().ok();
}

/// X3: usage is not sampled while no client requests it.
#[test]
fn usage_is_sampled_only_on_request() {
    let seen =
        Seen::of(&[("bot", SLEEP, ""), ("later", SLEEP, "ready = { delay = \"300ms\" }")]).up();
    let usage = seen.view("bot")["usage"].clone();
    seen.call(&["restart", "later"]).ok();
    let later = seen.view("bot")["usage"].clone();
    assert!(later["atMs"].as_u64() > usage["atMs"].as_u64(), "{usage} {later}");
    assert!(later["overMs"].as_u64() >= Some(300), "not sampled meanwhile: {usage} {later}");
}

/// X2: without a kernel boundary, a tree is the root's descendants and the processes with the run's id.
#[test]
fn usage_covers_the_whole_tree_without_a_cgroup() {
    let mut seen = Seen::of(&[(
        "bot",
        "sleep 1000 & (setsid sh -c 'sleep 1000 & exec sleep 1000' &); exec sleep 1000",
        "",
    )]);
    seen.home.set("OSTLER_NO_CGROUP", "1");
    let seen = seen.up();
    eventually("root, child, orphan and its child", || {
        (seen.view("bot")["usage"]["processes"] == 4).then_some(())
    });
    seen.home.kill_supervisor();
    eventually("the root and its child are still counted", || {
        let output = seen.call(&["ls", "--json"]);
        let views = (output.code == 0).then(|| output.json())?;
        (views[0]["usage"]["processes"].as_u64()? >= 2).then_some(())
    });
}

/// X2: following units continues when the supervisor dies, and neither misses nor repeats a line.
#[test]
fn following_units_outlives_a_supervisor() {
    let tick = "i=0; while :; do i=$((i+1)); echo line $i.; sleep 0.05; done";
    let seen = Seen::of(&[("a", tick, ""), ("b", tick, "")]).up();
    let following = seen.spawn(&["logs", "-f", "a", "b"]);
    following.until_written("a | line 5.");
    seen.home.kill_supervisor();
    let so_far = following.until_written("b | line 3.").matches("a | line").count();
    following.until_written(&format!("a | line {}.", so_far + 40));
    seen.call(&["stop", "a", "b"]).ok();
    let log = following.finish().ok().text();
    for name in ["a", "b"] {
        let lines: Vec<&str> = log.lines().filter(|line| line.starts_with(name)).collect();
        for (index, line) in lines.iter().enumerate() {
            assert_eq!(*line, format!("{name} | line {}.", index + 1));
        }
    }
}

/// X2: while a unit runs with an old declaration, `ls` and `status` say so.
#[test]
fn a_copy_with_an_old_declaration_is_reported() {
    let deaf = "trap '' TERM; echo up; while :; do sleep 0.05; done";
    let seen = Seen::of(&[("bot", deaf, "stop = { grace = \"2s\" }")]).up();
    seen.home.until_logged("bot", "up");
    assert_eq!(seen.view("bot")["changed"], false);
    seen.declare(&[("bot", SLEEP, "")]);
    seen.call(&["reload", "--no-wait"]).ok();
    let table = eventually("the old copy is reported", || {
        let view = seen.view("bot");
        (view["changed"] == true).then(|| seen.call(&["ls"]).ok().text())
    });
    assert!(table.contains("changed since its start"), "{table}");
    eventually("the new copy runs", || {
        let view = seen.view("bot");
        (view["state"] == "ready" && view["changed"] == false).then_some(())
    });
}
