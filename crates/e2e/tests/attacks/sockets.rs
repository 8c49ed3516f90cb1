//! Sockets that are removed or replaced: the daemon listens again, and removes only its own.

use crate::both;
use crate::other_users::{install, set_mode};
use ostler_e2e::{
    Background, Home, Output, Process, STRANGER, Signal, eventually, helper, is_root, skipped,
};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use std::os::unix::fs::{FileTypeExt, MetadataExt, chown};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// The layout that is used where `OSTLER_HOME` is not set: sockets in the user's runtime folder.
struct Default {
    home: Home,
    runtime: PathBuf,
}

impl Default {
    fn of(home: Home, runtime: &str) -> Self {
        let home = home.at("state/ostler");
        let runtime = home.folder().join(runtime);
        std::fs::create_dir_all(&runtime).expect("a folder");
        let state = home.folder().join("state");
        std::fs::create_dir_all(&state).expect("a folder");
        for folder in [&runtime, &state] {
            set_mode(folder, 0o700);
            let owner = home.folder().metadata().expect("a folder").uid();
            chown(folder, Some(owner), None).expect("the owner is changed");
        }
        Self { home, runtime }
    }

    fn call(&self, arguments: &[&str]) -> Output {
        let mut command = self.home.command(arguments);
        command.env_remove("OSTLER_HOME");
        command.env("XDG_STATE_HOME", self.home.folder().join("state"));
        command.env("XDG_RUNTIME_DIR", &self.runtime);
        self.home.spawn_program(command).finish()
    }
}

fn is_socket(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket())
}

fn remove_whole(folder: &Path) {
    // A process that writes there meanwhile makes it not empty.
    eventually("the folder is removed", || {
        let _ = std::fs::remove_dir_all(folder);
        (!folder.exists()).then_some(())
    });
}

/// D14: logind removes the runtime folder at the last logout: callers reach the same daemon again, and runs go on.
#[test]
fn a_removed_runtime_folder_is_created_again_with_its_sockets() {
    for home in both() {
        let layout = Default::of(home, "run");
        let run = layout.call(&["run", "-d", "--", "sleep", "1000"]).ok().text();
        let folder = layout.runtime.join("ostler");
        assert!(is_socket(&folder.join("ostler.sock")) && is_socket(&folder.join("kernel.sock")));
        let daemon = layout.home.supervisor().expect("a supervisor");
        remove_whole(&folder);
        let listed = layout.call(&["runs"]).ok().text();
        assert!(listed.contains(&run.trim()[24..]), "{listed}");
        layout.call(&["ls"]).ok();
        layout.call(&["run", "--", "true"]).ok();
        let status = layout.call(&["status", "--json"]).ok().json();
        assert_eq!(status["answering"], true, "{status}");
        assert_eq!(layout.home.supervisor(), Some(daemon), "the daemon was not replaced");
        eventually("apps can connect again", || {
            is_socket(&folder.join("kernel.sock")).then_some(())
        });
        layout.home.stop();
        assert!(!is_socket(&folder.join("ostler.sock")), "the folder is removed at the end");
    }
}

/// D14: if the runtime folder cannot be created again, the daemon is reached in its home.
#[test]
fn a_runtime_folder_that_only_root_makes_is_not_needed() {
    if !is_root() {
        return skipped("needs root");
    }
    let layout = Default::of(Home::of_ordinary_user(), "system/user");
    let system = layout.home.folder().join("system");
    chown(&system, Some(0), Some(0)).expect("root's");
    set_mode(&system, 0o755);
    layout.call(&["run", "-d", "--", "sleep", "1000"]).ok();
    let daemon = layout.home.supervisor().expect("a supervisor");
    remove_whole(&layout.runtime);
    layout.call(&["ls"]).ok();
    layout.call(&["run", "--", "true"]).ok();
    assert_eq!(layout.home.supervisor(), Some(daemon));
    // And by a supervisor that finds it so.
    layout.home.kill_supervisor();
    assert_eq!(layout.call(&["runs", "--json"]).ok().json().as_array().map(Vec::len), Some(2));
    layout.home.stop();
}

/// D14: a foreign socket in the place of the daemon's is replaced within 3 s, and nothing else is removed.
#[test]
fn a_replaced_socket_is_created_again() {
    for home in both() {
        home.start(&[], &["sleep", "1000"]);
        let socket = home.file("ostler.sock");
        let before = socket.metadata().expect("a socket").ino();
        std::fs::remove_file(&socket).expect("removed");
        let other = UnixListener::bind(&socket).expect("another's");
        let others = socket.metadata().expect("a socket").ino();
        eventually("the socket is the daemon's again", || {
            let now = socket.metadata().ok()?.ino();
            (now != others && now != before).then_some(())
        });
        drop(other);
        home.ostler(&["ls"]).ok();
        home.ostler(&["run", "--", "true"]).ok();
        home.stop();
    }
}

/// D14: a file that is no socket is not removed.
#[test]
fn a_file_in_the_place_of_a_socket_is_not_removed() {
    for home in both() {
        home.start(&[], &["sleep", "1000"]);
        let socket = home.file("kernel.sock");
        std::fs::remove_file(&socket).expect("removed");
        std::fs::write(&socket, "mine").expect("written");
        let output = || home.ostler(&["events", "--json"]).ok().text().contains("is not a socket");
        eventually("it is journaled", || output().then_some(()));
        assert_eq!(std::fs::read_to_string(&socket).expect("read"), "mine");
        std::fs::remove_file(&socket).expect("removed");
        eventually("apps can connect again", || is_socket(&socket).then_some(()));
        home.stop();
    }
}

/// D14: when a home is removed its daemon ends with all runs, and never removes the sockets of the next daemon.
#[test]
fn a_home_that_is_removed_and_made_again_belongs_to_its_new_daemon() {
    for home in both() {
        let run = home.start(&[], &["sleep", "1000"]);
        let (root, old) = (home.root(&run), home.supervisor().expect("a supervisor"));
        let guardian = home.guardian().expect("a guardian");
        remove_whole(home.path());
        home.ostler(&["run", "--", "true"]).ok();
        home.start(&[], &["sleep", "1001"]);
        let socket = home.file("ostler.sock").metadata().expect("a socket").ino();
        for process in [&root, &old, &guardian] {
            process.wait_gone();
        }
        assert_eq!(home.file("ostler.sock").metadata().expect("still there").ino(), socket);
        assert!(is_socket(&home.file("guardian.sock")), "the new guardian's");
        let status = home.ostler(&["status", "--json"]).ok().json();
        assert_eq!(status["answering"], true, "{status}");
        home.ostler(&["run", "--", "true"]).ok();
        assert_eq!(home.records().len(), 3, "none of the home that was removed");
        home.stop();
    }
}

/// D14: the home is removed and the supervisor dies before it notices: the guardian ends the runs.
#[test]
fn runs_of_a_removed_home_end_while_its_supervisor_is_dead() {
    for home in both() {
        let run = home.start(&[], &["sleep", "1000"]);
        let (root, guardian) = (home.root(&run), home.guardian().expect("a guardian"));
        remove_whole(home.path());
        home.kill_supervisor();
        guardian.wait_gone();
        root.wait_gone();
        assert!(!home.file("registry.db").exists(), "nothing is made in a home that was removed");
    }
}

/// D14: the guardian's own socket is created again, so that the next supervisor finds it.
#[test]
fn the_guardians_socket_is_created_again() {
    for home in both() {
        let run = home.start(&[], &["sleep", "1000"]);
        let (root, guardian) = (home.root(&run), home.guardian().expect("a guardian"));
        std::fs::remove_file(home.file("guardian.sock")).expect("removed");
        eventually("the socket exists again", || {
            is_socket(&home.file("guardian.sock")).then_some(())
        });
        home.kill_supervisor();
        home.ostler(&["run", "--", "true"]).ok();
        let status = home.ostler(&["status", "--json"]).ok().json();
        assert_eq!(status["pid"], guardian.pid, "{status}");
        assert!(root.is_alive());
        home.stop();
    }
}

/// D14: a unit that reports readiness finds its socket again.
#[test]
fn a_notify_socket_is_created_again() {
    for home in both() {
        let serve = install(&home, helper!("serve"));
        let text = format!(
            "[units.web]\ncommand = [\"{serve}\", \"say\", \"READY=1\"]\nready = {{ notify = true, timeout = \"60s\" }}\n"
        );
        let up = up(&home, &text);
        let socket = home.file("notify/web.sock");
        eventually("the unit runs", || is_socket(&socket).then_some(()));
        remove_whole(&home.file("notify"));
        eventually("the socket exists again", || is_socket(&socket).then_some(()));
        std::fs::write(home.folder().join("go"), "").expect("written");
        let said = up.finish().ok().text();
        assert!(said.contains("web: ready"), "{said}");
        home.stop();
    }
}

/// `ostler up` in the folder of the test.
pub fn up(home: &Home, text: &str) -> Background {
    let file = home.folder().join("ostler.toml");
    std::fs::write(&file, text).expect("written");
    if is_root() && home.folder().metadata().is_ok_and(|found| found.uid() == STRANGER) {
        chown(&file, Some(STRANGER), Some(STRANGER)).expect("the owner is changed");
    }
    let mut command = home.command(&["up"]);
    command.current_dir(home.folder());
    home.spawn_program(command)
}

/// X1: guardian and supervisor are stopped by a signal: a command prints which processes are stopped and what continues
/// them, and ends with an error. One that still waits when they continue is answered.
#[test]
fn a_stopped_daemon_is_named_with_the_command_that_continues_it() {
    let home = Home::new();
    home.ostler(&["start"]).ok();
    let processes =
        [home.guardian().expect("a guardian"), home.supervisor().expect("a supervisor")];
    stop_all_threads(&processes);
    for arguments in [["runs", "--json"], ["why", "abcd"]] {
        let output = home.ostler(&arguments);
        assert_ne!(output.code, 0, "{output:?}");
        let cure = format!("kill -CONT {} {}", processes[0].pid, processes[1].pid);
        assert!(
            output.stderr.contains(&format!(
                "waiting for the daemon: the daemon is stopped (state T): guardian pid {}",
                processes[0].pid
            )),
            "{output:?}"
        );
        assert!(
            output.stderr.contains("does not answer") && output.stderr.contains(&cure),
            "{output:?}"
        );
    }
    let waiting = home.spawn(&["runs"]);
    waiting.until_stderr_has("waiting for the daemon");
    processes.iter().for_each(|process| process.signal(Signal::CONT));
    assert_eq!(waiting.finish().code, 0);
    home.stop();
}

/// Returns when no thread of these processes can answer any more.
fn stop_all_threads(processes: &[Process]) {
    processes.iter().for_each(|process| process.signal(Signal::STOP));
    // A thread that runs on another processor may still answer.
    let is_stopped = |process: &Process| {
        let threads = std::fs::read_dir(format!("/proc/{}/task", process.pid)).expect("threads");
        threads.flatten().all(|thread| {
            std::fs::read_to_string(thread.path().join("stat"))
                .is_ok_and(|stat| stat.contains(") T "))
        })
    };
    eventually("all threads are stopped", || processes.iter().all(is_stopped).then_some(()));
}

/// X6: callers that a stopped daemon never accepts fill the queue of its socket; the next caller still gets an answer
/// in time.
#[test]
fn a_full_queue_of_a_stopped_daemon_blocks_no_caller() {
    let home = Home::new();
    home.ostler(&["start"]).ok();
    let processes =
        [home.guardian().expect("a guardian"), home.supervisor().expect("a supervisor")];
    stop_all_threads(&processes);
    let address = SocketAddrUnix::new(home.file("ostler.sock")).expect("a short path");
    // A connection that is closed again keeps its place in the queue.
    let fill = || {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        rustix::net::connect(&socket, &address)
    };
    let full = (0..100_000).find_map(|_| fill().err());
    assert_eq!(full, Some(rustix::io::Errno::AGAIN));
    let output = home.ostler(&["runs"]);
    assert!(output.code != 0 && output.stderr.contains("kill -CONT"), "{output:?}");
    processes.iter().for_each(|process| process.signal(Signal::CONT));
    home.ostler(&["runs"]).ok();
    home.stop();
}
