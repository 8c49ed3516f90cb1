//! The output of a run, in parts by offset.

use crate::http::setup::Api;
use serde_json::{Value, json};

fn text(part: &Value) -> String {
    let pieces = part["pieces"].as_array().expect("a list").iter();
    pieces.filter_map(|piece| piece["text"].as_str()).collect()
}

/// X9: parts together are the log, whole characters each, whatever their size.
#[test]
fn a_log_is_read_in_parts() {
    ostler_e2e::needs!("python3");
    let api = Api::new();
    let whole: String = (0..200).map(|number| format!("größe {number} €\n")).collect();
    let script = "i=0; while [ $i -lt 200 ]; do echo \"größe $i €\"; i=$((i+1)); done";
    let run = api.spawn("pipe", &["sh", "-c", script]);
    api.call("runs.wait", &format!("/runs/{run}/wait"), None);
    for limit in [7, 100, 65_536] {
        let (mut next, mut read) = (0, String::new());
        loop {
            let part =
                api.call("logs.read", &format!("/logs/{run}?from={next}&limit={limit}"), None);
            read += &text(&part);
            let after = part["next"].as_u64().expect("a number");
            assert!(after - next <= limit && after <= part["end"].as_u64().expect("a number"));
            next = after;
            if part["next"] == part["end"] {
                assert_eq!(part["ended"], true);
                break;
            }
        }
        assert_eq!(read, whole, "{limit}");
    }
    let tail = api.call("logs.read", &format!("/logs/{run}?lines=2"), None);
    assert_eq!(text(&tail), "größe 198 €\ngröße 199 €\n");
}

/// X9: `wait` answers when there is output, or the end.
#[test]
fn wait_answers_when_there_is_output_or_the_run_has_ended() {
    ostler_e2e::needs!("python3");
    let api = Api::new();
    let flag = api.web.project.path("flag");
    let script = format!("until [ -e {flag} ]; do sleep 0.05; done; echo later >&2");
    let run = api.spawn("pipe", &["sh", "-c", &script]);
    let now = api.call("logs.read", &format!("/logs/{run}"), None);
    assert_eq!((&now["pieces"], &now["ended"]), (&json!([]), &json!(false)));
    std::fs::write(&flag, "").expect("written");
    let part = api.call("logs.read", &format!("/logs/{run}?wait=true"), None);
    assert_eq!((text(&part).as_str(), &part["pieces"][0]["kind"]), ("later\n", &json!("stderr")));
    let last = api.call("logs.read", &format!("/logs/{run}?from=6&wait=true"), None);
    assert_eq!((&last["next"], &last["ended"]), (&json!(6), &json!(true)));
}
