//! Sleep: an idle agent is stopped, and comes back when there is something for it.

use crate::nudge_setup::Kept;
use crate::patrol_setup::{Seat, Town};
use crate::tmux_setup::Tmux;
use crate::units::Project;
use ostler_e2e::{Bystander, Door, Terminal, helper};
use serde_json::{Value, json};

/// A unit that keeps what is said to it, writes down how it was started, and sleeps after a second.
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

    /// It was looked at, and this is why it does not sleep.
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

/// W15: an idle agent is stopped: `suspended`, with why and since when, still wanted, and nothing is counted.
#[test]
fn an_idle_agent_sleeps() {
    sleeps(Kept::Own);
}

/// W15: so it is in tmux.
#[test]
fn an_idle_agent_in_tmux_sleeps() {
    ostler_e2e::needs!("tmux");
    sleeps(Kept::Tmux);
}

/// W15: it sleeps on through a crash of the supervisor, a stop of the daemon and another `up`.
#[test]
fn a_sleeper_sleeps_on() {
    let sleeper = Sleeper::new(Kept::Own);
    sleeper.asleep();
    crate::daemon::replace_supervisor(&sleeper.project.home);
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
    sleeper.mail(&["to one that is stopped"]);
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
    // It stays until that is read.
    sleeper.kept_awake("1 unread mail");
    let status = sleeper.project.call(&["status", "agent"]).text();
    assert!(status.contains("Awake: 1 unread mail"), "{status}");
    sleeper.project.call(&["mail", "check", "agent", "--inject"]).ok();
    sleeper.asleep();
    let why = sleeper.project.call(&["why", "agent"]).text();
    assert!(why.contains("woken: mail from overseer"), "{why}");
}

/// W15: mail brings it back with `resume`, and the mail is there; while it is unread, it does not sleep.
#[test]
fn mail_wakes_a_sleeper() {
    mail_wakes(Kept::Own);
}

/// W15: so it is in tmux.
#[test]
fn mail_wakes_a_sleeper_in_tmux() {
    ostler_e2e::needs!("tmux");
    mail_wakes(Kept::Tmux);
}

fn nudge_wakes(kept: Kept) {
    let sleeper = Sleeper::new(kept);
    sleeper.asleep();
    let nudged = sleeper.project.call(&["nudge", "agent", "--raw", "look at the build"]);
    assert!(nudged.ok().text().starts_with("delivered"), "it was heard: {}", sleeper.received());
    assert_eq!(sleeper.received().trim(), "\"look at the build\"");
    assert_eq!(sleeper.starts(), ["fresh", "again"]);
    sleeper.asleep();
    // One that only waits in the queue wakes it as well, and keeps it awake.
    sleeper.project.call(&["nudge", "agent", "--mode", "queue", "later"]).ok();
    sleeper.awake();
    sleeper.kept_awake("1 queued nudges");
}

/// W15: a nudge brings it back, and the text is delivered.
#[test]
fn a_nudge_wakes_a_sleeper() {
    nudge_wakes(Kept::Own);
}

/// W15: so it is in tmux.
#[test]
fn a_nudge_wakes_a_sleeper_in_tmux() {
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

/// W15: `attach` brings it back, and then the terminal is attached; as long as somebody is, it does not sleep.
#[test]
fn attach_wakes_a_sleeper() {
    attach_wakes(Kept::Own);
}

/// W15: so it is in tmux.
#[test]
fn attach_wakes_a_sleeper_in_tmux() {
    ostler_e2e::needs!("tmux");
    attach_wakes(Kept::Tmux);
}

/// W15: whoever works is not idle, though nothing is heard of it: it uses the processor, or said so.
#[test]
fn who_works_does_not_sleep() {
    let sleeper = Sleeper::with(Kept::Own, WORKS, "");
    sleeper.kept_awake("% of a CPU");
    let busy = Sleeper::new(Kept::Own);
    let said = json!({ "busyUntilMs": 9_999_999_999_999_u64, "declared": null });
    let said = json!({ "agent": "agent", "said": said });
    let answer =
        Door::connect(&busy.project.home).try_call("patrol.say", &said).expect("an answer");
    assert!(answer["error"].is_null(), "{answer}");
    busy.kept_awake("its agent reported that it is busy");
}

/// The shell that was to become the agent never comes to an end.
const WORKS: &str = "& while :; do :; done";

/// W15: one that works and gets next to nothing of a busy processor works all the same.
#[test]
fn who_works_on_a_busy_machine_does_not_sleep() {
    let on_the_first = ["taskset", "-c", "0", "sh", "-c", "while :; do :; done"];
    // Each in a session of its own: some kernels share a processor out by sessions.
    let others: Vec<Bystander> =
        (0..8).map(|_| Bystander::start("setsid", &on_the_first)).collect();
    let pinned = "& taskset -p -c 0 $$; while :; do :; done";
    let sleeper = Sleeper::with(Kept::Own, pinned, "");
    sleeper.kept_awake("% of a CPU");
    drop(others);
}

/// W15: what those say who know the agent counts more than its silence or its noise.
#[test]
fn the_word_of_who_knows_the_agent_counts() {
    let sleeper = Sleeper::new(Kept::Own);
    let say = |idle: Value| {
        let call = json!({ "of": "agent", "idle": idle });
        Door::connect(&sleeper.project.home).ask("agents.idle", call);
    };
    say(json!({ "state": "no" }));
    sleeper.kept_awake("its agent is not idle");
    // A clock ticks on this one's screen, and it is idle all the same.
    sleeper.declare(Kept::Own, "clock", "");
    sleeper.project.up();
    say(json!({ "state": "since", "sinceMs": 1 }));
    sleeper.asleep();
}

/// W14, W15: whose session is not known would come back as another, so it does not sleep until it is.
#[test]
fn who_could_not_be_resumed_does_not_sleep() {
    ostler_e2e::needs!("tmux");
    let sleeper = Sleeper(Tmux::new());
    let body = body(&sleeper.project, Kept::Own, "").replace("echo again", "echo again {session}");
    sleeper.project.declare(&[("agent", &body)]);
    sleeper.project.up();
    sleeper.kept_awake("the session of its agent is unknown");
    let call = json!({ "of": "agent", "session": "s-1" });
    Door::connect(&sleeper.project.home).ask("agents.session", call);
    sleeper.asleep();
    sleeper.mail(&["hello"]);
    sleeper.awake();
    assert_eq!(sleeper.starts(), ["fresh", "again s-1"]);
}

/// W12, W15: a sleeper leaves its place in its pool to one that waits, and queues when it is woken.
#[test]
fn a_sleeper_leaves_its_place() {
    ostler_e2e::needs!("tmux");
    let sleeper = Sleeper(Tmux::new());
    let agent = format!("{}\npool = \"one\"", body(&sleeper.project, Kept::Own, ""));
    let other = "command = [\"sleep\", \"1000\"]\npool = \"one\"";
    sleeper.project.declare(&[("agent", &agent), ("other", other)]);
    let units = std::fs::read_to_string(sleeper.project.file()).expect("it is there");
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

/// W15: mail that came just when the supervisor died wakes it all the same.
#[test]
fn mail_that_came_in_a_crash_is_not_slept_through() {
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

/// P3, W15: to the patrol a sleeper is neither dead nor hung; work that its command knows of wakes it.
#[test]
fn the_patrol_lets_a_sleeper_sleep() {
    ostler_e2e::needs!("tmux");
    let town = Town::new(Seat::Pty, "", &[]);
    let agent = body(&town.project, Kept::Own, "");
    let is_kept = |line: &&str| !line.starts_with("backend") && !line.starts_with("restart");
    let agent: String = agent.lines().filter(is_kept).flat_map(|line| [line, "\n"]).collect();
    let work = format!("work = [\"test\", \"-e\", {:?}]", town.project.path("work"));
    town.declare(Seat::Pty, "", &[("agent", &format!("{agent}\n{work}"))]);
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
