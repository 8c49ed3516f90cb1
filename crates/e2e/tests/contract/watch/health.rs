//! Health checks of `ostler watch`.

use crate::watch::setup::Watched;
use ostler_e2e::helper;
use rustix::process::Signal;

/// W4: every kind of failed check is recognised: after three in a row the server is restarted, once.
#[test]
fn an_unhealthy_server_is_restarted() {
    for (mode, why) in [
        ("sick", "status 500"),
        ("wrong", "degraded"),
        ("redirect", "status 302"),
        ("garbage", "not an HTTP response"),
        ("short", "not a JSON object"),
        ("long", "closed before"),
        ("endless", "longer than 64 KiB"),
        ("slow", "no answer before the timeout"),
        ("silent", "no answer before the timeout"),
    ] {
        let watched = Watched::new();
        let watch = watched.served(&["--health-timeout", "300ms"]);
        let old = watched.server(1);
        watched.until_asked(3);
        assert_eq!(watched.events("health_check_threshold_exceeded").len(), 0, "{mode}");
        watched.mode(mode);
        watched.until("health_check_threshold_exceeded", 1);
        let failed = watched.events("health_check_failed").pop().expect("a failure");
        assert_eq!((&failed["failures"], &failed["threshold"]), (&3.into(), &3.into()), "{mode}");
        assert!(
            failed["error"].as_str().is_some_and(|description| description.contains(why)),
            "{failed}"
        );
        watched.mode("");
        old.wait_gone();
        let new = watched.server(2);
        watched.until("health_check_restart", 1);
        let asked = watched.until_asked(1).len();
        watched.until_asked(asked + 5);
        assert!(new.is_alive() && watched.events("server_spawned").len() == 2, "{mode}");
        assert_eq!(watched.events("stopping_child_process").len(), 1, "{mode}");
        watch.signal(Signal::TERM);
        assert_eq!(watch.finish().code, 143);
    }
}

/// W4: an unhealthy server that exits with 0 at TERM is restarted: the stop was Ostler's decision.
#[test]
fn a_failed_health_check_always_restarts() {
    let watched = Watched::new();
    let script = format!("trap 'exit 0' TERM; {} & wait", helper!("watched"));
    let often = ["--health-interval", "40ms"];
    let watch = watched.watch(&often, &["sh", "-c", &script]);
    watched.until_asked(2);
    watched.mode("sick");
    let exited = watched.until("process_exited", 1);
    assert_eq!(exited["exitCode"], 0, "{exited}");
    watched.mode("");
    watched.server(2);
    watch.signal(Signal::TERM);
    assert_eq!(watch.finish().code, 0);
}

/// W4: KILL after the grace period for a server that ignores TERM.
#[test]
fn a_sick_server_that_ignores_term_is_killed() {
    let watched = Watched::new();
    let script = format!("trap '' TERM; exec {}", helper!("watched"));
    let options = ["--health-interval", "40ms", "--grace", "200ms"];
    let watch = watched.watch(&options, &["sh", "-c", &script]);
    watched.until_asked(2);
    watched.mode("sick");
    assert_eq!(watched.until("process_exited", 1)["signal"], "SIGKILL");
    watched.until("force_killing_child", 1);
    watched.mode("");
    watched.server(2);
    watch.signal(Signal::TERM);
    assert_eq!(watch.finish().code, 137);
}

/// W4: two failures have no effect; a chunked answer is valid.
#[test]
fn a_server_may_recover() {
    let watched = Watched::new();
    let watch = watched.served(&["--health-failures", "1000"]);
    let server = watched.server(1);
    watched.until_asked(1);
    watched.mode("wrong");
    watched.until("health_check_failed", 2);
    watched.mode("chunked");
    let description = watched.until("health_check_recovered", 1);
    assert!(
        description["previousFailures"].as_u64().is_some_and(|count| count >= 2),
        "{description}"
    );
    assert!(server.is_alive() && watched.events("server_spawned").len() == 1);
    watch.signal(Signal::TERM);
    watch.finish();
}

/// W4: no check runs before the start-up time is over, and then at the configured interval.
#[test]
fn checks_begin_after_the_start_up_time() {
    let watched = Watched::new();
    let options = ["--health-start-after", "400ms", "--health-interval", "100ms"];
    let watch = watched.watch(&options, &[helper!("watched")]);
    let asked = watched.until_asked(6);
    assert!(asked[0] >= 300, "{asked:?}");
    // On a fixed schedule: the duration of answers does not add up.
    let span = asked[5] - asked[0];
    assert!((400..1_500).contains(&span), "{asked:?}");
    watch.signal(Signal::TERM);
    watch.finish();
}

/// W4: checks work over IPv6 too.
#[test]
fn a_server_on_ipv6_is_checked() {
    let watched = Watched::new();
    let url = format!("http://[::1]:{}/health", watched.port);
    let options = ["--health-url", &url, "--health-interval", "40ms"];
    let watch = watched.watch(&options, &[helper!("watched"), "::1"]);
    watched.until_asked(5);
    watched.mode("sick");
    watched.until("health_check_restart", 1);
    watch.signal(Signal::TERM);
    watch.finish();
}

/// W11: with checks disabled no request is sent.
#[test]
fn without_checks_no_request_is_sent() {
    let watched = Watched::new();
    let mut command =
        watched.command(&["--health-interval", "20ms"], &["sh", "-c", "sleep 0.5; exit 0"]);
    command.env("HEALTH_CHECK_ENABLED", "false");
    assert_eq!(watched.home.spawn_program(command).finish().code, 0);
    assert_eq!(watched.events("health_check_failed").len(), 0);
}

/// W4: an answer without an end costs the supervisor nothing, however often it is read.
#[test]
fn an_endless_answer_does_not_fill_memory() {
    let watched = Watched::new();
    let watch = watched.served(&["--health-failures", "100000", "--health-interval", "5ms"]);
    watched.until_asked(20);
    let supervisor = watched.home.supervisor_pid();
    let before = resident_kib(supervisor);
    watched.mode("endless");
    watched.until_asked(300);
    watched.mode("garbage");
    watched.until_asked(600);
    let grown = resident_kib(supervisor).saturating_sub(before);
    assert!(grown < 8 << 10, "{grown} KiB more than {before} KiB");
    // And its failures do not fill the journal.
    assert!(watched.events("health_check_failed").len() < 60);
    watch.signal(Signal::TERM);
    watch.finish();
}

fn resident_kib(pid: i32) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the supervisor is running");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}
