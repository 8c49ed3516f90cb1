//! Tests with a real server: one listing, one capture, and their results without a server and with a suspended one.

#![expect(clippy::disallowed_methods, reason = "a test starts and ends a server of its own")]

use ostler_tmux::{Pane, Server, TmuxError, capture, list, processes_started, tree_of};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The process count is shared by all tests.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A server in its own directory, without user configuration.
struct Own {
    folder: tempfile::TempDir,
    server: Child,
}

impl Own {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let server = Command::new("tmux")
            .args(["-f", "/dev/null", "-D", "-S"])
            .arg(folder.path().join("s"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("tmux is here");
        let own = Self { folder, server };
        until("the server answers", || own.server().ask(&["show-options", "-g"]).is_ok());
        own
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    fn server(&self) -> Server {
        Server::at(self.socket())
    }

    fn session(&self, name: &str, script: &str) {
        let words = ["new-session", "-d", "-s", name, "-x", "80", "-y", "10", "--", "sh", "-c"];
        let words = [&words[..], &[script]].concat();
        self.server().ask(&words).expect("a session");
    }

    fn signal(&self, signal: &str) {
        let pid = self.server.id().to_string();
        Command::new("kill").args([signal, &pid]).status().expect("kill");
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.signal("-CONT");
        let _ = self.server().ask(&["kill-server"]);
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn one_listing_and_one_capture_cover_every_pane() {
    let _alone = alone();
    let own = Own::start();
    let server = own.server();
    assert_eq!(list(&server).expect("a fact").panes, [], "a server without sessions has none");
    own.session("größe", "echo eins; exec sleep 1000");
    own.session("two", "echo zwei; sleep 1000; :");
    server.ask(&["set-option", "-t", "=two:", "@ostler-unit", "u"]).expect("marked");
    server.ask(&["split-window", "-t", "=two:", "--", "sleep", "1000"]).expect("split");
    until("both have written", || {
        let panes = list(&server).expect("it answers").panes;
        let screens = capture(&server, &panes.iter().collect::<Vec<_>>()).expect("screens");
        let has = |text: &str| {
            screens.iter().flatten().any(|screen| screen.lines.join("\n").contains(text))
        };
        has("eins") && has("zwei")
    });
    let before = processes_started();
    let listing = list(&server).expect("it answers");
    let panes: Vec<&Pane> = listing.panes.iter().collect();
    let screens = capture(&server, &panes).expect("screens");
    assert_eq!(processes_started() - before, 2, "two processes for everything");
    assert_eq!((listing.panes.len(), screens.len()), (3, 3));
    assert_eq!(listing.server_pid, Some(own.server.id() as i32));
    let two: Vec<_> = listing.panes.iter().filter(|pane| pane.session == "two").collect();
    assert!(two.len() == 2 && two.iter().all(|pane| pane.unit == "u" && !pane.is_pane_process()));
    let first = listing.panes.iter().find(|pane| pane.session == "größe").expect("as it is called");
    assert_eq!((first.unit.as_str(), first.is_dead, first.in_mode), ("", false, false));
    assert_eq!((first.columns, first.rows), (80, 10));
    let names: Vec<String> = tree_of(two[0].pid).into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["sh", "sleep"]);

    // A pane that is gone before its capture gives `None`; the others are captured.
    let called = |id: &str| Pane { pane_id: id.to_owned(), ..panes[0].clone() };
    let (gone, nonsense) = (called("%99"), called("nonsense"));
    let screens = capture(&server, &[panes[0], &gone, &nonsense, panes[1]]).expect("what there is");
    let is_there: Vec<bool> = screens.iter().map(Option::is_some).collect();
    assert_eq!(is_there, [true, false, false, true]);
    assert!(capture(&server, &[panes[0]; 400]).expect("in several").iter().all(Option::is_some));
}

#[test]
fn a_missing_server_is_an_empty_listing_and_a_silent_one_is_an_error() {
    let _alone = alone();
    let mut own = Own::start();
    own.session("a", "exec sleep 1000");
    let first = Pane { pane_id: "%0".to_owned(), ..Pane::default() };
    let quick = own.server().with_limit(Duration::from_millis(300));
    own.signal("-STOP");
    assert!(matches!(list(&quick), Err(TmuxError::Silent { .. })), "nothing is known");
    assert!(matches!(capture(&quick, &[&first]), Err(TmuxError::Silent { .. })));
    own.signal("-CONT");
    until("it answers again", || list(&quick).is_ok_and(|listing| listing.panes.len() == 1));
    own.server.kill().expect("killed");
    own.server.wait().expect("reaped");
    assert_eq!(list(&quick).expect("a fact").server_pid, None);
    assert_eq!(capture(&quick, &[&first]).expect("a fact"), [None]);
    let nowhere = Server::at(own.folder.path().join("none"));
    assert_eq!(list(&nowhere).expect("a fact").panes, []);
    assert!(!own.folder.path().join("none").exists(), "a question starts no server");
    let absent = own.server().with_program("/no/such/tmux");
    assert!(matches!(list(&absent), Err(TmuxError::NotRun { .. })));
}

#[test]
fn a_server_that_is_started_waits_for_its_first_session() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::at(folder.path().join("d").join("s"));
    server.start().expect("started");
    assert!(!server.is_absent());
    server.start().expect("it is there already");
    assert_eq!(list(&server).expect("it answers").panes, []);
    server.ask(&["kill-server"]).expect("ended");
}

/// tmux 3.3 crashes with all its sessions when text is pasted into a pane whose program has ended.
#[test]
fn a_paste_into_a_dead_pane_leaves_the_server_alone() {
    let _alone = alone();
    let own = Own::start();
    let server = own.server();
    own.session("other", "exec sleep 1000");
    own.session("dead", "exec sleep 1000");
    server.ask(&["set-option", "-t", "=dead:", "remain-on-exit", "on"]).expect("set");
    let pane = || {
        let panes = list(&server).expect("it answers").panes;
        panes.into_iter().find(|pane| pane.session == "dead").expect("it stays")
    };
    server.ask(&["respawn-pane", "-k", "-t", &pane().pane_id, "true"]).expect("ended");
    until("its program has ended", || pane().is_dead);
    let _ = ostler_tmux::typing::paste(&server, &pane().pane_id, "hello");
    assert_eq!(list(&server).expect("it answers").panes.len(), 2);
}
