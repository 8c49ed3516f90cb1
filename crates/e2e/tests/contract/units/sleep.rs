//! Sleep: an idle agent is stopped, and started again when there is work for it.

use crate::nudge::setup::Kept;
use crate::patrol::setup::{AgentBackend, Town};
use crate::tmux::setup::Tmux;
use crate::units::setup::Project;
use ostler_e2e::{Bystander, ControlSocket, Terminal, helper};
use serde_json::{Value, json};

/// A unit that records its messages and how it was started, and sleeps after a second.
struct Sleeper(Tmux);

impl std::ops::Deref for Sleeper {
    type Target = Tmux;

    fn deref(&self) -> &Tmux {
        &self.0
    }
}

fn body(project: &Project, kept: Kept, words: &str) -> String {
    let backend = match kept {
        Kept::Own => "pty",
        Kept::Tmux => "tmux",
    };
    let start = |how: &str| {
        let (record, starts) = (project.path("record"), project.path("starts"));
        let script = format!("echo {how} >> {starts}; exec {} {record} {words}", helper!("prompt"));
        format!("[\"sh\", \"-c\", {script:?}]")
    };
    format!(
        "command = {}\nresume = {}\nbackend = {backend:?}\nidle = {{ after = \"1s\", suspend = \"stop\" }}\n\
         restart = {{ when = \"never\" }}",
        start("fresh"),
        start("again")
    )
}

impl Sleeper {
    fn new(kept: Kept) -> Self {
        Self::with(kept, "", "")
    }

    fn with(kept: Kept, words: &str, more: &str) -> Self {
        let sleeper = Self(Tmux::new());
        sleeper.declare(kept, words, more);
        sleeper.project.up();
        sleeper
    }

    fn declare(&self, kept: Kept, words: &str, more: &str) {
        let body = format!("{}\n{more}", body(&self.project, kept, words));
        self.project.declare(&[("agent", &body)]);
    }

    #[track_caller]
    fn asleep(&self) -> Value {
        self.project.until_state("agent", "suspended")
    }

    #[track_caller]
    fn awake(&self) -> Value {
        self.project.until_state("agent", "ready")
    }

    /// Waits until the unit reports why it does not sleep.
    #[track_caller]
    fn kept_awake(&self, why: &str) {
        self.project.until("agent", why, |view| {
            view["keptAwake"].as_str().is_some_and(|description| description.contains(why))
        });
        assert_eq!(self.project.state("agent"), "ready");
    }

    fn starts(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.project.path("starts")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn received(&self) -> String {
        std::fs::read_to_string(self.project.path("record")).unwrap_or_default()
    }

    fn mail(&self, words: &[&str]) {
        self.project.call(&[&["mail", "send", "agent", "-s"], words].concat()).ok();
    }

    fn terminal(&self, words: &[&str]) -> Terminal {
        Terminal::start(self.project.home.command(words), 80, 24)
    }
}

fn sleeps(kept: Kept) {
    let sleeper = Sleeper::new(kept);
    let process = sleeper.project.process("agent");
    let view = sleeper.asleep();
    process.wait_gone();
    assert_eq!((&view["desired"], &view["restarts"]), (&json!("running"), &json!(0)));
    assert_eq!((&view["pid"], &view["ends"]), (&Value::Null, &json!([])));
    let why = view["why"].as_str().expect("text");
    assert!(why.starts_with("idle for ") && why.ends_with(" without work"), "{why}");
    let listed = sleeper.project.call(&["ls"]).text();
    assert!(listed.contains("suspended  idle for"), "{listed}");
    let story = sleeper.project.call(&["why", "agent"]).text();
    assert!(story.contains("suspended: idle for"), "{story}");
    assert_eq!(sleeper.starts(), ["fresh"]);
}

/// W15: an idle agent is stopped: `suspended` with reason and time, still wanted, and not counted as a failure.
#[test]
fn an_idle_agent_sleeps() {
    sleeps(Kept::Own);
}

/// W15: the same in tmux.
#[test]
fn an_idle_agent_in_tmux_sleeps() {
    ostler_e2e::needs!("tmux");
    sleeps(Kept::Tmux);
}

/// W15: it stays asleep through a crash of the supervisor, a stop of the daemon and another `up`.
#[test]
fn a_sleeping_agent_stays_asleep_across_restarts() {
    let sleeper = Sleeper::new(Kept::Own);
    sleeper.asleep();
    crate::daemon::setup::replace_supervisor(&sleeper.project.home);
    assert_eq!(sleeper.project.state("agent"), "suspended");
    let up = sleeper.project.up();
    assert!(up.text().contains("= keep     agent"), "{up:?}");
    sleeper.project.home.stop();
    sleeper.project.home.ostler(&["start"]).ok();
    assert_eq!(sleeper.project.state("agent"), "suspended");
    assert_eq!(sleeper.starts(), ["fresh"]);
    sleeper.project.call(&["start", "agent"]).ok();
    assert_eq!((sleeper.project.state("agent"), sleeper.starts().len()), ("ready".to_owned(), 2));
    sleeper.asleep();
    sleeper.project.call(&["stop", "agent"]).ok();
    sleeper.mail(&["to a stopped agent"]);
    assert_eq!(sleeper.project.state("agent"), "stopped", "X4: a person stopped it");
}

fn mail_wakes(kept: Kept) {
    let sleeper = Sleeper::new(kept);
    sleeper.asleep();
    sleeper.mail(&["the build is red"]);
    sleeper.awake();
    assert_eq!(sleeper.starts(), ["fresh", "again"]);
    let inbox = sleeper.project.call(&["mail", "inbox", "agent", "--json"]).ok().json();
    assert_eq!(inbox[0]["subject"], "the build is red");
    // It stays awake until that is read.
    sleeper.kept_awake("1 unread mail");
    let status = sleeper.project.call(&["status", "agent"]).text();
    assert!(status.contains("Awake: 1 unread mail"), "{status}");
    sleeper.project.call(&["mail", "check", "agent", "--inject"]).ok();
    sleeper.asleep();
    let why = sleeper.project.call(&["why", "agent"]).text();
    assert!(why.contains("woken: mail from overseer"), "{why}");
}

/// W15: mail wakes it with `resume`, and the mail is there; while mail is unread, it does not sleep.
#[test]
fn mail_wakes_a_sleeping_agent() {
    mail_wakes(Kept::Own);
}

/// W15: the same in tmux.
#[test]
fn mail_wakes_a_sleeping_agent_in_tmux() {
    ostler_e2e::needs!("tmux");
    mail_wakes(Kept::Tmux);
}

fn nudge_wakes(kept: Kept) {
    let sleeper = Sleeper::new(kept);
    sleeper.asleep();
    let nudged = sleeper.project.call(&["nudge", "agent", "--raw", "look at the build"]);
    assert!(
        nudged.ok().text().starts_with("delivered"),
        "the agent received it: {}",
        sleeper.received()
    );
    assert_eq!(sleeper.received().trim(), "\"look at the build\"");
    assert_eq!(sleeper.starts(), ["fresh", "again"]);
    sleeper.asleep();
    // A queued nudge wakes it as well, and keeps it awake.
    sleeper.project.call(&["nudge", "agent", "--mode", "queue", "later"]).ok();
    sleeper.awake();
    sleeper.kept_awake("1 queued nudges");
}

/// W15: a nudge wakes it, and the text is delivered.
#[test]
fn a_nudge_wakes_a_sleeping_agent() {
    nudge_wakes(Kept::Own);
}

/// W15: the same in tmux.
#[test]
fn a_nudge_wakes_a_sleeping_agent_in_tmux() {
    ostler_e2e::needs!("tmux");
    nudge_wakes(Kept::Tmux);
}

fn attach_wakes(kept: Kept) {
    let sleeper = Sleeper::new(kept);
    sleeper.asleep();
    let mut terminal = sleeper.terminal(&["attach", "agent"]);
    terminal.until_shown("agent is asleep; waking it");
    sleeper.awake();
    terminal.until_on_screen("> ");
    terminal.keys(b"hello");
    terminal.until_on_screen("> hello");
    sleeper.kept_awake("a client is attached");
    assert_eq!(sleeper.starts(), ["fresh", "again"]);
    drop(terminal);
    sleeper.asleep();
}

/// W15: `attach` wakes it, and then attaches; while a client is attached, it does not sleep.
#[test]
fn attach_wakes_a_sleeping_agent() {
    attach_wakes(Kept::Own);
}

/// W15: the same in tmux.
#[test]
fn attach_wakes_a_sleeping_agent_in_tmux() {
    ostler_e2e::needs!("tmux");
    attach_wakes(Kept::Tmux);
}

/// W15: a silent agent is not idle if it uses the processor, or reports that it is busy.
#[test]
fn an_agent_that_works_does_not_sleep() {
    let sleeper = Sleeper::with(Kept::Own, WORKS, "");
    sleeper.kept_awake("% of a CPU");
    let busy = Sleeper::new(Kept::Own);
    let said = json!({ "busyUntilMs": 9_999_999_999_999_u64, "declared": null });
    let said = json!({ "agent": "agent", "said": said });
    let answer = ControlSocket::connect(&busy.project.home)
        .try_call("patrol.say", &said)
        .expect("an answer");
    assert!(answer["error"].is_null(), "{answer}");
    busy.kept_awake("its agent reported that it is busy");
}

/// The shell that should execute the agent never finishes.
const WORKS: &str = "& while :; do :; done";

/// W15: an agent that works but gets little processor time on a busy machine does not sleep.
#[test]
fn an_agent_that_works_on_a_busy_machine_does_not_sleep() {
    let on_the_first = ["taskset", "-c", "0", "sh", "-c", "while :; do :; done"];
    // Each in its own session: some kernels share the processor by session.
    let others: Vec<Bystander> =
        (0..8).map(|_| Bystander::start("setsid", &on_the_first)).collect();
    let pinned = "& taskset -p -c 0 $$; while :; do :; done";
    let sleeper = Sleeper::with(Kept::Own, pinned, "");
    sleeper.kept_awake("% of a CPU");
    drop(others);
}

/// W15: a report about the agent counts more than its silence or its output.
#[test]
fn a_report_about_the_agent_counts_more_than_its_output() {
    let sleeper = Sleeper::new(Kept::Own);
    let say = |idle: Value| {
        let call = json!({ "of": "agent", "idle": idle });
        ControlSocket::connect(&sleeper.project.home).ask("agents.idle", call);
    };
    say(json!({ "state": "no" }));
    sleeper.kept_awake("its agent is not idle");
    // A clock ticks on this agent's screen, and it is idle nevertheless.
    sleeper.declare(Kept::Own, "clock", "");
    sleeper.project.up();
    say(json!({ "state": "since", "sinceMs": 1 }));
    sleeper.asleep();
}

/// W14, W15: an agent whose session is unknown could not be resumed, so it does not sleep.
#[test]
fn an_agent_that_could_not_be_resumed_does_not_sleep() {
    ostler_e2e::needs!("tmux");
    let sleeper = Sleeper(Tmux::new());
    let body = body(&sleeper.project, Kept::Own, "").replace("echo again", "echo again {session}");
    sleeper.project.declare(&[("agent", &body)]);
    sleeper.project.up();
    sleeper.kept_awake("the session of its agent is unknown");
    let call = json!({ "of": "agent", "session": "s-1" });
    ControlSocket::connect(&sleeper.project.home).ask("agents.session", call);
    sleeper.asleep();
    sleeper.mail(&["hello"]);
    sleeper.awake();
    assert_eq!(sleeper.starts(), ["fresh", "again s-1"]);
}

/// W12, W15: a sleeping agent frees its slot in the pool, and queues when it is woken.
#[test]
fn a_sleeping_agent_frees_its_slot() {
    ostler_e2e::needs!("tmux");
    let sleeper = Sleeper(Tmux::new());
    let agent = format!("{}\npool = \"one\"", body(&sleeper.project, Kept::Own, ""));
    let other = "command = [\"sleep\", \"1000\"]\npool = \"one\"";
    sleeper.project.declare(&[("agent", &agent), ("other", other)]);
    let units = std::fs::read_to_string(sleeper.project.file()).expect("the unit exists");
    std::fs::write(sleeper.project.file(), format!("[pools.one]\nmax = 1\n{units}"))
        .expect("written");
    sleeper.project.up();
    assert_eq!(sleeper.project.state("other"), "queued");
    sleeper.asleep();
    sleeper.project.until_state("other", "ready");
    let nudged = sleeper.project.call(&["nudge", "agent", "--raw", "hello"]).ok().text();
    assert!(nudged.starts_with("queued: it waits for a free slot in its pool"), "{nudged}");
    assert_eq!(sleeper.project.view("agent")["why"], "pool one is full: 1 of 1 running (other)");
    sleeper.project.call(&["stop", "other"]).ok();
    sleeper.awake();
}

/// W15: mail that came just when the supervisor died wakes it.
#[test]
fn mail_that_came_during_a_crash_wakes_a_sleeping_agent() {
    let sleeper = Sleeper::new(Kept::Own);
    sleeper.asleep();
    for number in 0..3 {
        let supervisor = sleeper.project.home.supervisor().expect("a supervisor");
        let subject = format!("mail {number}");
        let sending = sleeper.project.spawn(&["mail", "send", "agent", "-s", &subject]);
        supervisor.signal(ostler_e2e::Signal::KILL);
        supervisor.wait_gone();
        let sent = sending.finish();
        if sent.code == 0 {
            sleeper.awake();
        }
        sleeper.project.call(&["mail", "check", "agent", "--inject"]).ok();
        sleeper.asleep();
    }
}

/// P3, W15: the patrol counts a sleeping agent neither as dead nor as hung; work that its work command reports wakes it.
#[test]
fn the_patrol_leaves_a_sleeping_agent_alone() {
    ostler_e2e::needs!("tmux");
    let town = Town::new(AgentBackend::Pty, "", &[]);
    let agent = body(&town.project, Kept::Own, "");
    let is_kept = |line: &&str| !line.starts_with("backend") && !line.starts_with("restart");
    let agent: String = agent.lines().filter(is_kept).flat_map(|line| [line, "\n"]).collect();
    let work = format!("work = [\"test\", \"-e\", {:?}]", town.project.path("work"));
    town.declare(AgentBackend::Pty, "", &[("agent", &format!("{agent}\n{work}"))]);
    town.up();
    town.project.until_state("agent", "suspended");
    for _ in 0..3 {
        let decided = town.decided("agent");
        assert_eq!(decided["step"], "nothing", "{decided}");
        let reason = decided["reason"].as_str().expect("text");
        assert!(reason.starts_with("asleep: idle for"), "{reason}");
    }
    assert_eq!(town.project.lines("starts"), 1);
    std::fs::write(town.project.path("work"), "").expect("written");
    let decided = town.decided("agent");
    assert_eq!(decided["step"], "nudge", "{decided}");
    assert_eq!(decided["reason"], "asleep, work pending");
    town.project.until_lines("starts", 2);
    town.project.until_state("agent", "ready");
}
