//! Agents on real terminals, with ticks by hand and heartbeats of any age.

use crate::units::setup::Project;
use ostler_e2e::{Output, Process, eventually, eventually_within};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The backend of the agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentBackend {
    Pty,
    Tmux,
}

/// Short times for tests.
const LADDER: &str = "grace = \"0\"\nnudge = \"50ms\"\nwake = \"50ms\"\ninterrupt = \"50ms\"\n\
    restart = \"50ms\"\nprogress = \"200ms\"\n";

/// An agent that waits at its terminal and ignores interrupts.
pub const WAITS: &str = "command = [\"sh\", \"-c\", \"trap '' INT; while :; do sleep 1000; done\"]";
/// The same, with work that counts as overdue at once.
pub const HANGS: &str = "command = [\"sh\", \"-c\", \"trap '' INT; while :; do sleep 1000; done\"]\n\
    stale = \"100ms\"\nvery_stale = \"1s\"";
/// The same, and it uses the processor.
pub const WORKS: &str = "command = [\"sh\", \"-c\", \"while :; do :; done\"]";

/// The time until several texts that no program takes have failed.
pub const CLIMB: Duration = Duration::from_secs(150);

pub struct Town {
    pub project: Project,
}

impl Town {
    /// `patrol` are keys of `[patrol]`; the agents' bodies are keys of their units.
    pub fn new(backend: AgentBackend, patrol: &str, agents: &[(&str, &str)]) -> Self {
        let project = Project::new();
        let town = Self { project };
        std::fs::create_dir_all(town.root()).expect("a folder");
        town.declare(backend, patrol, agents);
        town
    }

    pub fn declare(&self, backend: AgentBackend, patrol: &str, agents: &[(&str, &str)]) {
        let variable = self.project.home.variable();
        let (name, value) = variable.split_once('=').expect("a variable");
        let backend = match backend {
            AgentBackend::Pty => "backend = \"pty\"\n",
            AgentBackend::Tmux => "",
        };
        // By hand only: `up` causes only the first tick.
        let tables_at = if patrol.starts_with('[') { Some(0) } else { patrol.find("\n[") };
        let (own, tables) = patrol.split_at(tables_at.unwrap_or(patrol.len()));
        let mut text = format!(
            "[defaults]\nenv.{name} = \"{value}\"\n\n[patrol]\nroot = \"town\"\ntick = \"1h\"\n{own}\n\
             [patrol.ladder]\n{LADDER}\n{tables}\n"
        );
        for (agent, body) in agents {
            text +=
                &format!("[patrol.watch.{agent}]\n{backend}env.E2E_UNIT = \"{agent}\"\n{body}\n\n");
        }
        std::fs::write(self.project.file(), text).expect("written");
    }

    pub fn root(&self) -> PathBuf {
        self.project.folder().join("town")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    #[track_caller]
    pub fn json(&self, name: &str) -> Value {
        let text =
            std::fs::read_to_string(self.file(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}: {text}"))
    }

    /// Starts all agents, and waits for the patrol's first tick.
    #[track_caller]
    pub fn up(&self) -> Output {
        let output = self.project.up();
        eventually("the first tick", || self.file("daemon/state.json").exists().then_some(()));
        output
    }

    #[track_caller]
    pub fn call(&self, arguments: &[&str]) -> Output {
        self.project.call(arguments)
    }

    /// Runs a tick by hand; returns its result.
    #[track_caller]
    pub fn tick(&self) -> Value {
        self.call(&["patrol", "tick", "--json"]).ok().json()
    }

    /// The decision about one agent.
    #[track_caller]
    pub fn decided(&self, agent: &str) -> Value {
        decision(&self.tick(), agent)
    }

    /// Ticks until this step is taken for the agent.
    #[track_caller]
    pub fn until_step(&self, agent: &str, step: &str) -> Value {
        let mut seen = Vec::new();
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually_within(CLIMB, step, || {
                let decided = self.decided(agent);
                seen.push(format!("{}: {}", decided["step"], decided["reason"]));
                (decided["step"] == step).then_some(decided)
            })
        }));
        found.unwrap_or_else(|_| panic!("{agent}: never {step}: {seen:#?}"))
    }

    /// Writes a heartbeat of this age.
    pub fn heartbeat(&self, agent: &str, age: Duration, cycle: u64) {
        let at = SystemTime::now() - age;
        let seconds = at.duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        let file = match agent {
            "deacon" => self.file("deacon/heartbeat.json"),
            other => self.file(&format!(".runtime/heartbeats/gt-{other}.json")),
        };
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        let beat = json!({
            "timestamp": utc(seconds), "cycle": cycle, "last_action": "test",
            "healthy_agents": 0, "unhealthy_agents": 0,
        });
        std::fs::write(file, beat.to_string()).expect("written");
    }

    pub fn mail(&self, to: &str) {
        self.call(&["mail", "send", to, "-s", "work", "-m", "there is work"]).ok();
    }

    #[track_caller]
    pub fn process(&self, agent: &str) -> Process {
        self.project.process(agent)
    }

    /// How often this is in the agent's journal.
    #[track_caller]
    pub fn count(&self, agent: &str, what: &str) -> usize {
        let story = self.call(&["why", agent, "--json"]).ok().json();
        let events = story["events"].as_array().expect("a list");
        events.iter().filter(|event| event["what"] == what).count()
    }
}

#[track_caller]
pub fn decision(tick: &Value, agent: &str) -> Value {
    let agents = tick["agents"].as_array().expect("a list");
    let found = agents.iter().find(|one| one["agent"] == agent);
    found.unwrap_or_else(|| panic!("no {agent} in {tick:#}"))["decision"].clone()
}

/// Old enough for any rule.
pub const LONG: Duration = Duration::from_secs(3_600);

fn utc(seconds: u64) -> String {
    let (days, rest) = ((seconds / 86_400) as i64, seconds % 86_400);
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}
