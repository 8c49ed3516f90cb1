use super::super::error::Code;
use super::super::events::Next;
use super::super::next_beat::Status;
use super::super::stop::{Stop, StopRequester};
use super::fake_kernel::{FakeBehaviour, FakeKernel};
use super::*;
use serde_json::json;

#[test]
fn registers_with_the_secret_and_carries_the_token_from_then_on() {
    let linked = Linked::registered();
    let request = linked.kernel.next("app.register");
    let protocol = json!({ "version": "1.0" });
    let manifest = json!({ "id": ID, "type": "app", "protocol": protocol });
    assert_eq!(request["params"], json!({ "manifest": manifest, "secret": "s3cret" }));
    assert_eq!(request.get("token"), None);
    linked.link.ready().expect("ready");
    assert_eq!(linked.kernel.next("app.ready")["token"], "token-1");
    let configuration = linked.link.configuration().expect("one");
    assert_eq!((configuration.config, configuration.version), (json!({}), json!(1)));
}

#[test]
fn a_refusal_has_its_code_message_and_details() {
    let linked = Linked::registered();
    linked.kernel.next_is("x.y", FakeBehaviour::Refuse("FORBIDDEN"));
    match linked.link.request("x.y", json!({})).expect_err("refused") {
        AppError::Refused { method, code, message, details } => {
            assert_eq!(
                (&*method, code, &*message),
                ("x.y", Code::Forbidden, "refused with FORBIDDEN")
            );
            assert_eq!(details, Some(json!([1])));
        }
        other => panic!("{other}"),
    }
    linked.kernel.next_is("config.get", FakeBehaviour::Refuse("NOT_FOUND"));
    assert_eq!(linked.link.configuration().expect("an empty one").config, json!({}));
}

#[test]
fn a_call_is_given_up_and_its_late_answer_is_dropped() {
    let linked = Linked::with(|link| link.request_timeout = Duration::from_millis(300));
    linked.register();
    linked.kernel.next_is("x.slow", FakeBehaviour::Silent);
    let error = linked.link.request("x.slow", json!({})).expect_err("a timeout");
    assert_eq!(error.to_string(), "x.slow was not answered within 0.3 s");
    let id = linked.kernel.next("x.slow")["id"].clone();
    let late = json!({ "type": "response", "requestId": id, "success": true });
    linked.kernel.send(format!("{late}\n"));
    linked.link.request("x.fast", json!({})).expect("answered");
}

#[test]
fn garbage_and_a_line_in_pieces_do_no_harm() {
    let linked = Linked::registered();
    linked.kernel.send(b"\n{\"type\":\n[1]\n\xff\xfe\n");
    linked.beat().expect("still connected");
    let config = json!({ "config": { "a": "grün 🐎" }, "version": 2 });
    let line = format!("{}\n", json!({ "type": "event", "event": "config", "payload": config }));
    for byte in line.as_bytes() {
        linked.kernel.send([*byte]);
    }
    let Next::Config(configuration) = linked.link.news.next(None) else { panic!("no news") };
    assert_eq!(configuration.config, json!({ "a": "grün 🐎" }));
}

#[test]
fn only_a_line_that_is_too_long_is_refused() {
    let linked = Linked::registered();
    let big = json!({ "text": "x".repeat(super::super::MAX_LINE) });
    let error = linked.link.request("x.big", big).expect_err("too long");
    assert_eq!(error.code(), "LINE_TOO_LONG");
    linked.beat().expect("still connected");
}

#[test]
fn heartbeats_are_sent_automatically_and_repeat_the_last_report() {
    let mut linked = Linked::new();
    linked.kernel.beat_every(20);
    linked.register();
    linked.begin_heart();
    for _ in 0..3 {
        let beat = linked.kernel.next("app.heartbeat");
        assert_eq!(beat["params"], json!({ "status": { "status": "healthy" } }));
    }
    let context = super::super::Context::new(&linked.link);
    context.status(Status::Degraded, json!({ "queue": 3 })).expect("sent");
    context.busy_for(Duration::from_secs(60)).expect("sent");
    let is_both = |beat: &serde_json::Value| {
        beat["params"]["status"]["queue"] == 3 && beat["params"]["busyFor"].as_u64() > Some(30_000)
    };
    for _ in 0..3 {
        while !is_both(&linked.kernel.next("app.heartbeat")) {}
    }
    context.busy_until(std::time::SystemTime::UNIX_EPOCH).expect("finished");
    while linked.kernel.next("app.heartbeat")["params"].get("busyFor").is_some() {}
}

#[test]
fn the_shutdown_is_reported_with_its_time_and_reason() {
    let linked = Linked::registered();
    assert!(linked.link.news.begin_setup());
    linked.kernel.event("shutdown", json!({ "timeout": 1500, "reason": "stop" }));
    assert_eq!(linked.link.news.next(None), Next::Stop);
    let stop = linked.link.news.stop().expect("asked");
    assert_eq!((stop.reason(), stop.timeout()), ("stop", Duration::from_millis(1_500)));
    assert!(stop.left() <= stop.timeout());
    linked.beat().expect("still allowed");
    assert_eq!(linked.kernel.count("app.shutdown"), 0, "Ostler knows of it");
    let other = Linked::registered();
    assert!(other.link.news.begin_setup());
    other.kernel.event("shutdown", json!({}));
    assert_eq!(other.link.news.next(None), Next::Stop);
    let stop = other.link.news.stop().expect("asked");
    assert_eq!((stop.reason(), stop.timeout()), ("shutdown", Duration::from_secs(5)));
}

#[test]
fn an_app_reports_its_own_exit() {
    let linked = Linked::registered();
    assert!(linked.link.news.begin_setup());
    linked.link.ask(Stop::new("all done", Duration::from_secs(2), StopRequester::Own));
    let notice = linked.kernel.next("app.shutdown");
    assert_eq!(notice["params"], json!({ "reason": "all done", "timeout": 2_000 }));
    linked.link.be_known(Duration::from_secs(30));
}

#[test]
fn a_stop_before_setup_cancels_the_start() {
    let linked = Linked::new();
    linked.kernel.next_is("app.register", FakeBehaviour::Silent);
    let link = Arc::clone(&linked.link);
    let registering = thread::spawn(move || link.register(Manifest::new(ID)));
    linked.kernel.next("app.register");
    linked.link.ask(Stop::new("SIGTERM", Duration::from_secs(5), StopRequester::Own));
    let error = registering.join().expect("no panic").expect_err("given up");
    assert_eq!(error.code(), "CLOSED");
    assert!(!linked.link.news.begin_setup());
    linked.kernel.until_disconnected();
}

#[test]
fn a_failed_connection_names_the_socket() {
    let kernel = FakeKernel::new();
    kernel.die();
    let mut link = Link::new(environment(&kernel), Duration::from_secs(5));
    link.connect_timeout = Duration::from_millis(50);
    let description = link.connect().expect_err("no server").description();
    assert!(description.contains("socket: No such file"), "{description}");
    assert!(description.ends_with("(CONNECT_FAILED)"), "{description}");
}
