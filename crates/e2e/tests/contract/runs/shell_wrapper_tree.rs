//! A program behind a shell is ended with the shell.

use crate::setup::{Backend, Setup, on_every_backend};
use ostler_e2e::{Home, eventually, helper};
use std::time::{Duration, Instant};

on_every_backend! {
    /// R8, R9, R19
    shell_wrapper_tree: shell_wrapper_tree_pipe shell_wrapper_tree_pty
        shell_wrapper_tree_pipe_without_cgroup shell_wrapper_tree_pty_without_cgroup
}

fn shell_wrapper_tree(setup: Setup) {
    let home = setup.home();
    let script =
        format!("sh -c '{} 4 & sleep 300 & echo ready; wait' & wait", helper!("fork_tree"));
    let run = home.start_ready(&setup.options(&[]), &["bash", "-c", &script]);
    // `ready` of either process; the test waits for the whole tree.
    eventually("the tree is complete", || (home.processes_of_runs().len() >= 8).then_some(()));
    let tree = home.processes_of_runs();
    let result = home.cancel(&run);
    assert_eq!(result["termination"], "manual-cancel", "{result}");
    assert_eq!(result["extinct"], "yes");
    assert!(tree.iter().all(|process| !process.is_alive()), "{tree:?}");
}

on_every_backend! {
    /// R8: a login shell.
    login_shell: a_login_shell_is_ended_with_its_children_pipe
        a_login_shell_is_ended_with_its_children_pty
        a_login_shell_is_ended_with_its_children_pipe_without_cgroup
        a_login_shell_is_ended_with_its_children_pty_without_cgroup
}

fn login_shell(setup: Setup) {
    let home = setup.home();
    let run = home.start_ready(
        &setup.options(&[]),
        &["bash", "-lc", "sleep 301 & (sleep 302; true) & echo ready; wait"],
    );
    eventually("the tree is complete", || (home.processes_of_runs().len() >= 4).then_some(()));
    let tree = home.processes_of_runs();
    assert_eq!(home.cancel(&run)["extinct"], "yes");
    assert!(tree.iter().all(|process| !process.is_alive()), "{tree:?}");
}

/// R8: job control puts each job into a group of its own; they are ended like the rest.
#[test]
fn jobs_in_groups_of_their_own_are_ended() {
    for setup in [Setup::PIPE, Setup::PTY, Setup::PIPE_WITHOUT_CGROUP, Setup::PTY_WITHOUT_CGROUP] {
        let home = setup.home();
        let run = home.start_ready(
            &setup.options(&["--grace", "500ms"]),
            &["bash", "-c", "set -m; sleep 301 & sleep 302 & echo ready; wait"],
        );
        eventually("the tree is complete", || (home.processes_of_runs().len() >= 3).then_some(()));
        let tree = home.processes_of_runs();
        let result = home.cancel(&run);
        assert_eq!(result["extinct"], "yes", "{setup:?}: {result}");
        assert!(tree.iter().all(|process| !process.is_alive()), "{setup:?}: {tree:?}");
    }
}

/// R8: `npm run`: a shell in node in a shell.
#[test]
fn npm_run_is_ended_with_its_children() {
    ostler_e2e::needs!("npm");
    let home = Home::new();
    let package = r#"{"name":"x","version":"1.0.0","scripts":{"dev":"sleep 301 & sleep 302 & echo ready; wait"}}"#;
    std::fs::write(home.folder().join("package.json"), package).expect("a package");
    let folder = home.folder().to_str().expect("a path").to_owned();
    let run = home.start(&["--cwd", &folder], &["npm", "run", "dev"]);
    eventually("npm has started its script", || {
        (home
            .processes_of_runs()
            .iter()
            .filter(|process| process.command().starts_with("sleep"))
            .count()
            == 2)
            .then_some(())
    });
    let tree = home.processes_of_runs();
    let result = home.cancel(&run);
    assert_eq!(result["termination"], "manual-cancel", "{result}");
    assert_eq!(result["extinct"], "yes");
    assert!(tree.iter().all(|process| !process.is_alive()), "{tree:?}");
}

on_every_backend! {
    /// R9, R11: the result is the root's exit; a grandchild that holds the stream open cannot delay it.
    held_stream: a_grandchild_that_holds_the_stream_does_not_hang_the_result_pipe
        a_grandchild_that_holds_the_stream_does_not_hang_the_result_pty
        a_grandchild_that_holds_the_stream_does_not_hang_the_result_pipe_without_cgroup
        a_grandchild_that_holds_the_stream_does_not_hang_the_result_pty_without_cgroup
}

fn held_stream(setup: Setup) {
    let home = setup.home();
    let began = Instant::now();
    let result = home.run(
        &setup.options(&["--grace", "300ms"]),
        &["sh", "-c", "nohup sleep 30 | cat & echo done; exit 4"],
    );
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(result["exitCode"], 4, "{result}");
    assert_eq!(result["extinct"], "yes");
    assert!(result["stdout"].as_str().is_some_and(|text| text.contains("done")), "{result}");
    if setup.backend == Backend::Pipe {
        assert_eq!(result["termination"], "exit", "{result}");
    }
    assert!(home.processes_of_runs().is_empty());
}

/// R11: output soon after the root's exit is kept.
#[test]
fn output_after_the_roots_exit_is_kept() {
    for setup in [Setup::PIPE, Setup::PIPE_WITHOUT_CGROUP] {
        let home = setup.home();
        let result =
            home.run(&[], &["sh", "-c", "(sleep 0.1; echo late; sleep 0.1; echo later) & exit 0"]);
        assert_eq!(result["stdout"], "late\nlater\n", "{result}");
        assert_eq!(result["termination"], "exit");
    }
}
