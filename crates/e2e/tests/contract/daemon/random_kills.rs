//! Fifty runs, and SIGKILL of supervisor and guardian at random moments: no run is affected.
//!
//! `OSTLER_KILLS=n` sets how many (20 unless told), `OSTLER_SEED=n` repeats a history.

use crate::daemon::setup::{Counting, Daemon, all, answering, state_file, status};
use ostler_e2e::{Background, Home, Process, Signal, eventually};
use std::collections::HashMap;
use std::time::{Duration, Instant};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// The process that is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Victim {
    Supervisor,
    Guardian,
    /// The next supervisor too, as soon as it exists and before it is ready.
    SupervisorTwice,
    /// The supervisor; the next one gets the descriptors from the guardian.
    SupervisorThenGuardian,
    /// The guardian; the new one gets the descriptors from the supervisor.
    GuardianThenSupervisor,
}

const VICTIMS: [Victim; 8] = [
    Victim::Supervisor,
    Victim::Supervisor,
    Victim::Supervisor,
    Victim::Guardian,
    Victim::Guardian,
    Victim::SupervisorTwice,
    Victim::SupervisorThenGuardian,
    Victim::GuardianThenSupervisor,
];

/// A run that answers each line, and exits at the end of its input.
struct Echo {
    run: String,
    root: Process,
    words: u32,
}

struct Campaign {
    home: Home,
    random: Random,
    counting: Vec<(Counting, i32)>,
    ended: Vec<(Counting, i32)>,
    echoes: Vec<Echo>,
    metrics: HashMap<String, u64>,
    kills: HashMap<Victim, u32>,
    crashes: u64,
    longest: Duration,
}

impl Campaign {
    fn begin(seed: u64) -> Self {
        let home = Home::with(&[("OSTLER_WAIT_MS", "20")]);
        let mut counting = Vec::new();
        for number in 0..30 {
            // Codes 1 to 30, or a signal; slow ones, quick ones, bursts.
            let end = if number % 5 == 4 { -[9, 15, 6][number % 3] } else { number as i32 + 1 };
            let options: &[&str] = if number % 2 == 0 { &["--pty"] } else { &[] };
            let (batch, pause) = [(1, 20), (20, 10), (400, 100)][number % 3];
            counting.push((Counting::start(&home, options, batch, pause, end), end));
        }
        let script =
            "test -t 0 && stty -echo; echo ready; while read x; do echo \"<$x>\"; done; exit 7";
        let mut echoes = Vec::new();
        for number in 0..20 {
            let option = if number % 2 == 0 { "--pty" } else { "--stdin" };
            let run = home.start_ready(&[option], &["sh", "-c", script]);
            let root = home.root(&run);
            echoes.push(Echo { run, root, words: 0 });
        }
        Self {
            home,
            random: Random(seed),
            counting,
            ended: Vec::new(),
            echoes,
            metrics: HashMap::new(),
            kills: HashMap::new(),
            crashes: 0,
            longest: Duration::ZERO,
        }
    }

    fn kill_supervisor(&mut self) -> Process {
        let old = eventually("a supervisor", || self.home.supervisor());
        old.signal(Signal::KILL);
        old.wait_gone();
        self.crashes += 1;
        old
    }

    fn kill_guardian(&mut self) -> Process {
        let old = eventually("a guardian", || self.home.guardian());
        old.signal(Signal::KILL);
        old.wait_gone();
        old
    }

    /// The new guardian, after the supervisor has handed it everything.
    fn new_guardian(&self, old: &Process) {
        eventually("a new guardian", || {
            let pid = status(&self.home)["pid"].as_i64()?;
            (pid as i32 != old.pid).then_some(())
        });
    }

    fn next_supervisor(&self, old: &Process) -> Process {
        eventually("the next supervisor", || {
            self.home.supervisor().filter(|process| process != old)
        })
    }

    /// Kills; returns how many processes were killed.
    fn strike(&mut self) -> u32 {
        // The delay between the two events, not a wait for something.
        std::thread::sleep(Duration::from_millis(self.random.below(40)));
        let victim = VICTIMS[self.random.below(VICTIMS.len() as u64) as usize];
        *self.kills.entry(victim).or_default() += 1;
        // Sometimes a run ends just now, and another is just being started.
        if self.counting.len() > 10 && self.random.below(4) == 0 {
            let index = self.random.below(self.counting.len() as u64) as usize;
            let (counting, end) = self.counting.swap_remove(index);
            counting.end();
            self.ended.push((counting, end));
        }
        let started =
            (self.random.below(3) == 0).then(|| self.home.spawn(&["run", "--", "echo", "heard"]));
        let began = Instant::now();
        let killed = match victim {
            Victim::Supervisor => {
                let old = self.kill_supervisor();
                answering(&self.home, &old);
                1
            }
            Victim::Guardian => {
                let old = self.kill_guardian();
                self.new_guardian(&old);
                1
            }
            Victim::SupervisorTwice => {
                let old = self.kill_supervisor();
                self.next_supervisor(&old);
                let old = self.kill_supervisor();
                answering(&self.home, &old);
                2
            }
            Victim::SupervisorThenGuardian => {
                let old = self.kill_supervisor();
                self.next_supervisor(&old);
                let old = self.kill_guardian();
                self.new_guardian(&old);
                2
            }
            Victim::GuardianThenSupervisor => {
                let old = self.kill_guardian();
                self.new_guardian(&old);
                let old = self.kill_supervisor();
                answering(&self.home, &old);
                2
            }
        };
        self.longest = self.longest.max(began.elapsed());
        if let Some(started) = started {
            self.receive(started);
        }
        killed
    }

    /// A run that was being started goes on, unless the kill came between its record and its process.
    fn receive(&self, started: Background) {
        let output = started.finish();
        let was_struck = output.code == 125
            && (output.stderr.contains("before it started the run")
                || output.stderr.contains("ended before the process was recorded"));
        let is_whole = output.stderr.is_empty() && output.text() == "heard\n";
        assert!(was_struck || (output.code == 0 && is_whole), "{output:?}");
    }

    /// Each run has exactly one live copy, with its first pid; no counter has decreased.
    fn look(&mut self) {
        let daemon = Daemon::of(&self.home);
        let processes = self.home.processes();
        let records = self.home.records();
        let live = self.counting.iter().map(|(counting, _)| (&counting.run, &counting.root));
        let live = live.chain(self.echoes.iter().map(|echo| (&echo.run, &echo.root)));
        for (run, root) in live {
            let variable = format!("OSTLER_RUN_ID={run}");
            let copies: Vec<_> =
                processes.iter().filter(|process| process.has_variable(&variable)).collect();
            assert_eq!(copies, [root], "{run}");
            let record = records.iter().find(|record| record["runId"] == run.as_str());
            let record = record.unwrap_or_else(|| panic!("no record of {run}"));
            assert_eq!((&record["state"], &record["pid"]), (&"running".into(), &root.pid.into()));
        }
        for sample in
            self.home.ostler(&["metrics", "--json"]).ok().json().as_array().expect("a list")
        {
            let name = sample["name"].as_str().expect("a name");
            if name.ends_with("_total") {
                let key = format!("{name}{}", sample["labels"]);
                let value = sample["value"].as_u64().expect("a number");
                let before = self.metrics.insert(key.clone(), value).unwrap_or(0);
                assert!(value >= before, "{key} went back from {before} to {value}");
            }
        }
        assert_eq!(state_file(&self.home)["crash_count"], self.crashes);
        assert_eq!(state_file(&self.home)["pid"], daemon.guardian.pid);
        let index = self.random.below(self.echoes.len() as u64) as usize;
        let echo = &mut self.echoes[index];
        echo.words += 1;
        let word = format!("word {}", echo.words);
        self.home.ostler(&["write", &echo.run, "--text", &format!("{word}\n")]).ok();
        self.home.until_logged(&echo.run, &format!("<{word}>"));
    }

    /// Ends everything, and checks that records and output are true and complete.
    fn finish(mut self) -> usize {
        for (counting, end) in self.counting.drain(..) {
            counting.end();
            self.ended.push((counting, end));
        }
        let mut lines = 0;
        for (counting, end) in &self.ended {
            let result = self.home.wait(&counting.run);
            let (field, value) = if *end < 0 { ("exitSignal", -end) } else { ("exitCode", *end) };
            assert_eq!(result[field], value, "{result}");
            assert_eq!(self.home.count(&counting.run, "exited"), 1);
            lines += counting.assert_whole(&self.home);
        }
        for echo in &self.echoes {
            self.home.ostler(&["write", &echo.run, "--eof", "--text", ""]).ok();
            assert_eq!(self.home.wait(&echo.run)["exitCode"], 7);
            let log = self.home.ostler(&["logs", &echo.run]).ok().text();
            let said: Vec<_> = log.lines().map(str::trim_end).collect();
            let words = (1..=echo.words).map(|number| format!("<word {number}>"));
            let expected: Vec<_> = std::iter::once("ready".to_owned()).chain(words).collect();
            assert_eq!(said, expected, "{}", echo.run);
        }
        for record in self.home.records() {
            assert_eq!(record["state"], "exited", "{record}");
            // Only a run that was never executed has no exit status.
            let was_executed = record["startedAtMs"].is_u64();
            assert!(!was_executed || record["termination"] != "reconciled-stale", "{record}");
        }
        eventually("no zombie is left", || corpses(&self.home).is_empty().then_some(()));
        assert_eq!(self.home.processes_of_runs(), []);
        self.home.ostler(&["stop"]).ok();
        assert_eq!(self.home.processes(), []);
        lines
    }
}

/// Zombies among the daemon's children.
fn corpses(home: &Home) -> Vec<i32> {
    let own: Vec<i32> = [all(home, "guardian"), all(home, "supervisor")]
        .concat()
        .iter()
        .map(|own| own.pid)
        .collect();
    let entries = std::fs::read_dir("/proc").expect("processes").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        let mut fields = rest.split(' ');
        let (state, parent) = (fields.next(), fields.next().and_then(|pid| pid.parse().ok()));
        state == Some("Z") && parent.is_some_and(|parent| own.contains(&parent))
    })
    .collect()
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// D3, D5, D8, D9: see above.
#[test]
fn fifty_runs_survive_every_kill() {
    let seed = number("OSTLER_SEED").unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.expect("after 1970").as_nanos() as u64 | 1
    });
    let wanted = number("OSTLER_KILLS").unwrap_or(20);
    println!("OSTLER_SEED={seed} OSTLER_KILLS={wanted}");
    let began = Instant::now();
    let mut campaign = Campaign::begin(seed);
    campaign.look();
    let mut killed = 0;
    while killed < wanted {
        killed += u64::from(campaign.strike());
        campaign.look();
    }
    let (kills, longest) = (format!("{:?}", campaign.kills), campaign.longest);
    let ended = campaign.ended.len();
    let lines = campaign.finish();
    println!(
        "{killed} killed in {:?} ({kills}), {ended} runs ended meanwhile, {lines} lines, longest {longest:?}",
        began.elapsed()
    );
}
