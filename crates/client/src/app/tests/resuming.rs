use super::super::events::Next;
use super::fake_kernel::FakeBehaviour;
use super::*;
use serde_json::json;

#[test]
fn resumes_with_the_token_on_a_new_connection() {
    let linked = Linked::registered();
    linked
        .link
        .heartbeat(|liveness| liveness.busy_for(Duration::from_secs(600)))
        .expect("answered");
    linked.kernel.next("app.heartbeat");
    linked.kernel.drop_all();
    let beat = linked.kernel.next("app.heartbeat");
    assert_eq!(beat["token"], "token-1");
    assert!(beat["params"]["busyFor"].as_u64() > Some(300_000), "{beat}");
    linked.beat().expect("open again");
    assert_eq!(linked.kernel.count("app.register"), 1);
    assert_eq!(linked.kernel.connections(), 2);
}

#[test]
fn a_missed_change_is_reported() {
    let linked = Linked::registered();
    linked.link.news.begin_with(linked.link.configuration().expect("one"));
    linked.kernel.configure(json!({ "config": { "level": 2 }, "version": 2 }));
    linked.kernel.drop_all();
    let Next::Config(configuration) = linked.link.news.next(None) else { panic!("no news") };
    assert_eq!(configuration.config, json!({ "level": 2 }));
}

#[test]
fn registers_anew_and_is_ready_again_when_the_token_is_forgotten() {
    let linked = Linked::registered();
    linked.link.ready().expect("ready");
    linked.kernel.next("app.register");
    linked.kernel.next("app.ready");
    linked.kernel.die();
    linked.kernel.forget_token();
    linked.kernel.listen();
    linked.kernel.next("app.register");
    assert_eq!(linked.kernel.next("app.ready")["token"], "token-2");
    linked.beat().expect("registered");
}

#[test]
fn registers_anew_when_a_heartbeat_finds_the_token_forgotten() {
    let linked = Linked::registered();
    linked.kernel.forget_token();
    linked.beat().expect("registered again");
    assert_eq!(linked.kernel.count("app.register"), 2);
    assert_eq!(linked.kernel.count("app.ready"), 0, "it never was");
    linked.link.configuration().expect("answered");
}

#[test]
fn the_client_survives_a_connection_lost_in_the_middle_of_a_line() {
    let linked = Linked::registered();
    linked.kernel.next_is("app.heartbeat", FakeBehaviour::Half);
    linked.beat().expect("sent again");
}

#[test]
fn only_idempotent_requests_are_sent_again() {
    let linked = Linked::registered();
    for method in ["app.ready", "x.once"] {
        linked.kernel.next_is(method, FakeBehaviour::Silent);
    }
    let (ready, once) = (Arc::clone(&linked.link), Arc::clone(&linked.link));
    let ready = thread::spawn(move || ready.ready());
    linked.kernel.next("app.ready");
    let once = thread::spawn(move || once.request("x.once", json!({})));
    linked.kernel.next("x.once");
    linked.kernel.drop_all();
    let error = once.join().expect("no panic").expect_err("lost");
    assert_eq!(error.code(), "CONNECTION_LOST");
    ready.join().expect("no panic").expect("sent again");
    assert_eq!(linked.kernel.count("x.once"), 0);
}

#[test]
fn a_registration_that_was_never_answered_is_sent_again() {
    let linked = Linked::new();
    linked.kernel.next_is("app.register", FakeBehaviour::Half);
    linked.register();
    assert_eq!(linked.kernel.count("app.register"), 2);
}

#[test]
fn calls_made_without_a_connection_wait_for_one() {
    let linked = Linked::registered();
    linked.kernel.die();
    let link = Arc::clone(&linked.link);
    let call = thread::spawn(move || link.request("x.once", json!({})));
    linked.kernel.listen();
    // The call may be made before the loss is noticed; then it is lost, too.
    match call.join().expect("no panic") {
        Ok(result) => assert_eq!(result, json!({ "ok": true })),
        Err(error) => assert_eq!(error.code(), "CONNECTION_LOST"),
    }
    linked.beat().expect("answered");
}

#[test]
fn retries_when_resuming_is_refused_or_not_answered() {
    let linked = Linked::with(|link| link.request_timeout = Duration::from_millis(500));
    linked.register();
    linked.kernel.next_is("app.heartbeat", FakeBehaviour::Refuse("INTERNAL_ERROR"));
    linked.kernel.next_is("app.heartbeat", FakeBehaviour::Silent);
    linked.kernel.drop_all();
    for _ in 0..3 {
        linked.kernel.next("app.heartbeat");
    }
    linked.kernel.next("config.get");
    assert_eq!(linked.kernel.connections(), 4);
}

#[test]
fn does_not_reconnect_once_it_is_superseded() {
    let mut linked = Linked::registered();
    linked.begin_heart();
    linked.kernel.next_is("x.wait", FakeBehaviour::Silent);
    let link = Arc::clone(&linked.link);
    let call = thread::spawn(move || link.request("x.wait", json!({})));
    linked.kernel.next("x.wait");
    linked.kernel.event("superseded", json!({}));
    let error = call.join().expect("no panic").expect_err("superseded");
    assert_eq!(error.code(), "SUPERSEDED");
    linked.kernel.until_disconnected();
    assert_eq!(linked.beat().expect_err("closed").code(), "SUPERSEDED");
    // Both threads end by themselves.
    for thread in linked.threads.drain(..) {
        thread.join().expect("no panic");
    }
    assert_eq!(linked.kernel.connections(), 1);
}

#[test]
fn a_missed_shutdown_is_received_while_resuming() {
    let linked = Linked::registered();
    assert!(linked.link.news.begin_setup());
    linked.kernel.next_is("app.heartbeat", FakeBehaviour::Silent);
    linked.kernel.drop_all();
    linked.kernel.next("app.heartbeat");
    linked.kernel.event("shutdown", json!({ "timeout": 9_000, "reason": "again" }));
    assert_eq!(linked.link.news.next(None), Next::Stop);
    assert_eq!(linked.link.news.stop().expect("asked").reason(), "again");
}

#[test]
fn refuses_what_is_open_when_it_is_closed() {
    let linked = Linked::registered();
    linked.kernel.next_is("x.never", FakeBehaviour::Silent);
    let link = Arc::clone(&linked.link);
    let call = thread::spawn(move || link.request("x.never", json!({})));
    linked.kernel.next("x.never");
    linked.link.close();
    assert_eq!(call.join().expect("no panic").expect_err("closed").code(), "CLOSED");
}
