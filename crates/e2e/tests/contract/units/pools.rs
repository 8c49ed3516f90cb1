//! Pools: at most `max` members run, the others wait, and each says why.

use crate::units::setup::Project;
use ostler_e2e::{Home, Process, Signal, eventually};
use serde_json::Value;
use std::path::Path;

const SLEEP: &str = "command = [\"sleep\", \"1000\"]\npool = \"coders\"";

/// A project with a pool before its units.
struct Pooled {
    project: Project,
    /// The memory figures that the supervisor reads.
    memory: std::path::PathBuf,
}

impl Pooled {
    fn new() -> Self {
        let mut project = Project::new();
        let memory = project.home.folder().join("memory");
        std::fs::create_dir(&memory).expect("a folder");
        project.home.set("OSTLER_MEMORY_FROM", memory.to_str().expect("text"));
        let pooled = Self { project, memory };
        pooled.machine(64, "0.00");
        pooled
    }

    fn machine(&self, free_gib: u64, pressure: &str) {
        let meminfo = format!("MemTotal: 1 kB\nMemAvailable: {} kB\n", free_gib << 20);
        write(&self.memory.join("meminfo"), &meminfo);
        let description = format!("some avg10={pressure} avg60=0.00 avg300=0.00 total=0\n");
        write(&self.memory.join("pressure"), &description);
    }

    fn declare(&self, pool: &str, units: &[&str]) {
        let units: Vec<(&str, &str)> = units.iter().map(|unit| (*unit, SLEEP)).collect();
        self.declare_all(pool, &units);
    }

    fn declare_all(&self, pool: &str, units: &[(&str, &str)]) {
        self.project.declare(units);
        let units = std::fs::read_to_string(self.project.file()).expect("the unit exists");
        write(&self.project.file(), &format!("[pools.coders]\n{pool}\n\n{units}"));
    }

    fn why(&self, unit: &str) -> String {
        let view = self.project.view(unit);
        assert_eq!(view["state"], "queued", "{view:#}");
        view["why"].as_str().expect("text").to_owned()
    }

    fn run_why(&self, run: &str) -> String {
        let record = self.project.home.record(run);
        assert_eq!(record["state"], "queued", "{record:#}");
        record["why"].as_str().expect("text").to_owned()
    }
}

/// Atomically: the supervisor may read it at any time.
fn write(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).expect("written");
    std::fs::rename(&beside, path).expect("renamed");
}

fn pool_view(home: &Home) -> Value {
    home.ostler(&["status", "--json"]).json()["pools"][0].clone()
}

/// W12: units beyond the maximum are queued with the reason, and start in order; `up` does not wait for them.
#[test]
fn units_beyond_the_maximum_are_queued_and_say_why() {
    let pooled = Pooled::new();
    pooled.declare("max = 2", &["a", "b", "c", "d"]);
    let up = pooled.project.up();
    assert!(up.text().contains("c: queued (pool coders is full: 2 of 2 running (a, b))"), "{up:?}");
    assert_eq!(pooled.why("d"), "pool coders is full: 2 of 2 running (a, b); 1 ahead in the queue");
    for verb in [&["ls"][..], &["status", "c"], &["why", "c"]] {
        let output = pooled.project.call(verb);
        assert!(output.text().contains("pool coders is full: 2 of 2 running (a, b)"), "{output:?}");
    }
    let why = pooled.project.call(&["why", "--json", "c"]).ok().json();
    let is_queued = |event: &&Value| event["what"] == "queued";
    let queued = why["events"].as_array().expect("a list").iter().filter(is_queued).count();
    assert_eq!((queued, &why["unit"]["pool"]), (1, &"coders".into()));
    let view = pool_view(&pooled.project.home);
    assert_eq!(view["running"], serde_json::json!(["a", "b"]));
    assert_eq!(view["queued"], serde_json::json!(["c", "d"]));
    pooled.project.call(&["stop", "a"]).ok();
    pooled.project.until_state("c", "ready");
    assert_eq!(pooled.why("d"), "pool coders is full: 2 of 2 running (b, c)");
    assert_eq!(pooled.project.copies_of("d"), 0);
}

/// W12: a run waits in the same queue. In the background its id is printed at once, in the foreground it begins when it
/// may, with its output and its exit code.
#[test]
fn runs_and_units_wait_in_one_queue() {
    let pooled = Pooled::new();
    let home = &pooled.project.home;
    pooled.declare("max = 1", &["a"]);
    pooled.project.up();
    let background = home.start(&["--pool", "coders"], &["sh", "-c", "echo first; exit 3"]);
    assert_eq!(pooled.run_why(&background), "pool coders is full: 1 of 1 running (a)");
    let input = pooled.project.folder().join("input");
    write(&input, "typed before it began\n");
    let mut foreground = home.program("sh");
    let call = "exec \"$0\" run --pool coders --stdin -- sh -c 'cat; exit 5' < \"$1\"";
    foreground.args(["-c", call]).arg(Home::binary()).arg(&input);
    let foreground = home.spawn_program(foreground);
    let waiting = "pool coders is full: 1 of 1 running (a); 1 ahead in the queue";
    eventually("the second one waits", || {
        let records = home.records();
        records.iter().any(|record| record["why"] == waiting).then_some(())
    });
    pooled.project.call(&["stop", "a"]).ok();
    assert_eq!(home.wait(&background)["exitCode"], 3);
    let ended = foreground.finish();
    assert_eq!((ended.code, ended.text().as_str()), (5, "typed before it began\n"), "{ended:?}");
    assert!(ended.stderr.contains(&format!("ostler: queued: {waiting}")), "{ended:?}");
    assert_eq!(home.count(&background, "admitted"), 1);
}

/// W12, X1: a pool that no file declares is an error that names the known pools.
#[test]
fn an_unknown_pool_is_an_error() {
    let pooled = Pooled::new();
    pooled.declare("max = 1", &["a"]);
    pooled.project.up();
    let output = pooled.project.call(&["run", "--pool", "codrs", "--", "true"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains("there is no pool \"codrs\"; known pools: coders"),
        "{output:?}"
    );
    // A unit of another file may name it.
    let other = pooled.project.folder().join("other.toml");
    write(&other, "[units.z]\ncommand = [\"sleep\", \"1000\"]\npool = \"coders\"\n");
    pooled.project.call(&["check", "other.toml"]).ok();
    pooled.project.call(&["up", "-f", "other.toml"]).ok();
    assert_eq!(pooled.why("z"), "pool coders is full: 1 of 1 running (a)");
    write(&other, "[units.z]\ncommand = [\"sleep\", \"1000\"]\npool = \"codrs\"\n");
    let output = pooled.project.call(&["up", "-f", "other.toml"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("other.toml:3:8: there is no pool \"codrs\""), "{output:?}");
    assert!(output.stderr.contains("did you mean \"coders\"?"), "{output:?}");
    // Another file may not declare the same pool.
    write(&other, "[pools.coders]\nmax = 9\n");
    let output = pooled.project.call(&["up", "-f", "other.toml"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("pool \"coders\" is already declared in"), "{output:?}");
    assert_eq!(pool_view(&pooled.project.home)["max"], 1);
    // Without its file, the pool stays for the units that name it.
    pooled.project.call(&["stop", "z"]).ok();
    pooled.project.call(&["down"]).ok();
    assert_eq!(pool_view(&pooled.project.home)["file"], Value::Null);
    pooled.project.call(&["down", "z"]).ok();
    assert_eq!(pool_view(&pooled.project.home), Value::Null);
}

/// W12: a restart keeps the slot, and so does a crash; a stop of a queued unit removes it from the queue.
#[test]
fn a_restart_keeps_its_slot() {
    let pooled = Pooled::new();
    pooled.declare("max = 1", &["a", "b", "c"]);
    pooled.project.up();
    let first = pooled.project.process("a");
    pooled.project.call(&["restart", "a"]).ok();
    let second = pooled.project.next_process("a", &first);
    pooled.project.crash("a");
    pooled.project.next_process("a", &second);
    assert_eq!(pooled.why("b"), "pool coders is full: 1 of 1 running (a)");
    pooled.project.call(&["stop", "b"]).ok();
    assert_eq!(pooled.project.state("b"), "stopped");
    pooled.project.call(&["stop", "a"]).ok();
    pooled.project.until_state("c", "ready");
    pooled.project.call(&["start", "b"]).ok();
    assert_eq!(pooled.why("b"), "pool coders is full: 1 of 1 running (c)");
}

/// W12: after a crash of the supervisor live members count, and queued units and runs go on waiting.
#[test]
fn the_queue_survives_a_crash_of_the_supervisor() {
    let pooled = Pooled::new();
    let home = &pooled.project.home;
    pooled.declare("max = 2", &["b", "c"]);
    pooled.project.up();
    let options = ["--pool", "coders", "--env", "SECRET=kept in memory"];
    let run = home.start(&options, &["sh", "-c", "echo $SECRET; exec sleep 1000"]);
    pooled.declare("max = 2", &["a", "b", "c"]);
    pooled.project.up();
    let live: Vec<Process> = ["b", "c"].map(|unit| pooled.project.process(unit)).into();
    for _ in 0..3 {
        crate::daemon::setup::replace_supervisor(home);
        assert_eq!(pooled.run_why(&run), "pool coders is full: 2 of 2 running (b, c)");
        let description = "pool coders is full: 2 of 2 running (b, c); 1 ahead in the queue";
        assert_eq!(pooled.why("a"), description);
    }
    assert!(live.iter().all(Process::is_alive));
    let registry = std::fs::read(home.registry_file()).expect("the output exists");
    let secret = b"kept in memory";
    let is_there = registry.windows(secret.len()).any(|window| window == secret);
    assert!(!is_there, "an environment is not written to disk");
    pooled.project.call(&["stop", "c"]).ok();
    home.until_logged(&run, "kept in memory");
    assert_eq!(home.record(&run)["state"], "running");
    home.cancel(&run);
    pooled.project.until_state("a", "ready");
}

/// W12, D10: an upgrade does not wait for queued runs, and they go on waiting.
#[test]
fn the_queue_survives_an_upgrade() {
    let pooled = Pooled::new();
    let home = &pooled.project.home;
    pooled.declare("max = 1", &["a"]);
    pooled.project.up();
    let foreground = home.spawn(&["run", "--pool", "coders", "--", "echo", "at last"]);
    let waits = || home.records().iter().any(|record| record["state"] == "queued").then_some(());
    eventually("it waits", waits);
    let before = home.supervisor_pid();
    home.ostler(&["reload", "--self"]).ok();
    assert_ne!(home.supervisor_pid(), before);
    eventually("it waits", waits);
    pooled.project.call(&["stop", "a"]).ok();
    let ended = foreground.finish();
    assert_eq!((ended.code, ended.text().as_str()), (0, "at last\n"), "{ended:?}");
}

/// W12: guardian and supervisor die at once: a queued run's environment is lost, and its error says so.
#[test]
fn a_queued_run_whose_environment_is_lost_has_an_error() {
    let pooled = Pooled::new();
    let home = &pooled.project.home;
    pooled.declare("max = 1", &["a"]);
    pooled.project.up();
    let run = home.start(&["--pool", "coders"], &["true"]);
    home.kill_daemon();
    let record = eventually("the next supervisor has looked", || {
        Some(home.record(&run)).filter(|record| record["state"] == "exited")
    });
    assert_eq!(
        (&record["termination"], &record["pid"]),
        (&"reconciled-stale".into(), &Value::Null)
    );
    pooled.project.until_state("a", "ready");
}

/// W12: Ctrl-C ends the wait of a foreground run, `cancel` that of a background run.
#[test]
fn queued_runs_can_be_cancelled() {
    let pooled = Pooled::new();
    let home = &pooled.project.home;
    pooled.declare("max = 1", &["a"]);
    pooled.project.up();
    let background = home.start(&["--pool", "coders"], &["true"]);
    let foreground = home.spawn(&["run", "--pool", "coders", "--", "true"]);
    eventually("both wait", || {
        let records = home.records();
        let queued = records.iter().filter(|record| record["state"] == "queued").count();
        (queued == 2).then_some(())
    });
    foreground.signal(Signal::INT);
    let ended = foreground.finish();
    assert_ne!(ended.code, 0, "{ended:?}");
    assert_eq!(home.cancel(&background)["termination"], "manual-cancel");
    assert!(home.records().iter().all(|record| record["state"] != "queued"));
    assert_eq!(pool_view(home)["queued"], serde_json::json!([]));
}

/// W12: `reload` with a larger max starts queued units; with a smaller one it ends none.
#[test]
fn a_reload_changes_the_limit_and_ends_no_unit() {
    let pooled = Pooled::new();
    pooled.declare("max = 1", &["a", "b", "c"]);
    pooled.project.up();
    pooled.declare("max = 3", &["a", "b", "c"]);
    pooled.project.call(&["reload"]).ok();
    let live: Vec<Process> = ["a", "b", "c"]
        .map(|unit| {
            pooled.project.until_state(unit, "ready");
            pooled.project.process(unit)
        })
        .into();
    pooled.declare("max = 1", &["a", "b", "c"]);
    pooled.project.call(&["reload"]).ok();
    assert_eq!(pool_view(&pooled.project.home)["max"], 1);
    assert!(live.iter().all(Process::is_alive));
    pooled.project.call(&["stop", "a"]).ok();
    pooled.project.call(&["start", "a"]).ok();
    assert_eq!(pooled.why("a"), "pool coders is full: 2 of 1 running (b, c)");
}

/// W13: no member is started while too little memory is free, and all as soon as there is enough.
#[test]
fn too_little_memory_starts_no_unit() {
    let pooled = Pooled::new();
    pooled.machine(3, "0.00");
    pooled.declare("min_free_memory = \"4G\"", &["a"]);
    pooled.project.up();
    assert_eq!(pooled.why("a"), "less than 4G of memory free (3G)");
    let run = pooled.project.home.start(&["--pool", "coders"], &["true"]);
    assert_eq!(pooled.run_why(&run), "less than 4G of memory free (3G); 1 ahead in the queue");
    pooled.machine(9, "0.00");
    pooled.project.until_state("a", "ready");
    assert_eq!(pooled.project.home.wait(&run)["exitCode"], 0);
}

/// W13: no new member is started under memory pressure; running members may be restarted.
#[test]
fn memory_pressure_starts_no_new_unit() {
    let pooled = Pooled::new();
    pooled.declare("", &["a"]);
    pooled.project.up();
    pooled.machine(64, "27.20");
    pooled.declare("", &["a", "b"]);
    pooled.project.up();
    assert_eq!(pooled.why("b"), "memory pressure (PSI some avg10 27 %)");
    let first = pooled.project.process("a");
    pooled.project.call(&["restart", "a"]).ok();
    pooled.project.next_process("a", &first);
    let doctor = pooled.project.call(&["doctor"]).text();
    assert!(doctor.contains("pressure 27.2% (PSI some avg10)"), "{doctor}");
    // A pool may allow more.
    pooled.declare("max_pressure = \"30%\"", &["a", "b"]);
    pooled.project.call(&["reload"]).ok();
    pooled.project.until_state("b", "ready");
}

/// W13: on a machine without pressure figures the limit has no effect, and `doctor` says so.
#[test]
fn a_machine_without_psi_delays_no_unit() {
    let pooled = Pooled::new();
    std::fs::remove_file(pooled.memory.join("pressure")).expect("the file existed");
    pooled.declare("max_pressure = \"1%\"", &["a"]);
    pooled.project.up();
    assert_eq!(pooled.project.state("a"), "ready");
    let doctor = pooled.project.call(&["doctor"]).text();
    assert!(doctor.contains("weak  memory"), "{doctor}");
    assert!(doctor.contains("max_pressure of pools has no effect"), "{doctor}");
}
