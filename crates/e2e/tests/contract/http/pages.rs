//! Lists: pages by a cursor, and entity tags.

use crate::http::setup::{Api, problem};
use serde_json::{Value, json};

/// The keys of all items, page by page; `between` happens after each page.
#[track_caller]
fn walk(api: &Api, path: &str, key: &str, limit: usize, mut between: impl FnMut()) -> Vec<String> {
    let (mut cursor, mut seen) = (String::new(), Vec::new());
    loop {
        let sign = if path.contains('?') { '&' } else { '?' };
        let page = api.get(&format!("{path}{sign}limit={limit}{cursor}")).json();
        let items = page["items"].as_array().unwrap_or_else(|| panic!("{path}: {page}"));
        assert!(items.len() <= limit);
        let text = |item: &Value| item[key].as_str().map_or(item[key].to_string(), str::to_owned);
        seen.extend(items.iter().map(text));
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return seen,
        }
        between();
    }
}

/// X9: pages have each item once, also while the list changes.
#[test]
fn a_cursor_leaves_out_nothing_and_repeats_nothing() {
    ostler_e2e::needs!("python3");
    let api = Api::new();
    let mut runs: Vec<String> = (0..12).map(|_| api.spawn("pipe", &["true"])).collect();
    for run in &runs {
        api.call("runs.wait", &format!("/runs/{run}/wait"), None);
    }
    runs.sort();
    for limit in [1, 5, 100] {
        let mut seen = walk(&api, "/runs", "runId", limit, || {
            if limit == 5 {
                api.spawn("pipe", &["true"]);
            }
        });
        let all = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), all, "an item is there twice");
        assert!(runs.iter().all(|run| seen.contains(run)), "{runs:?} {seen:?}");
    }
    assert_eq!(walk(&api, "/units", "unit", 1, || {}), ["bot", "web"]);

    let ids: Vec<String> = (10..41).map(|number| format!("0a-{number}")).collect();
    for id in &ids {
        let draft = json!({ "id": id, "from": "a", "to": "b", "subject": "s", "body": "text" });
        api.call("mail.send", "/mail/messages", Some(draft));
    }
    for limit in [1, 7, 31] {
        assert_eq!(walk(&api, "/mail/boxes/b", "id", limit, || {}), ids, "{limit}");
    }

    let whole = walk(&api, "/events", "seq", 1_000, || {});
    assert!(whole.len() > 20, "{whole:?}");
    let mut has_changed = false;
    let parts = walk(&api, "/events", "seq", 3, || {
        if !std::mem::replace(&mut has_changed, true) {
            api.spawn("pipe", &["true"]);
        }
    });
    assert_eq!(parts[..whole.len()], whole[..]);
    assert!(parts.len() > whole.len());
    assert!(parts.is_sorted_by_key(|seq| seq.parse::<u64>().expect("a number")));
}

/// X9: who has the list already gets 304 and no body, until it changes.
#[test]
fn an_entity_tag_saves_reading_a_list_again() {
    ostler_e2e::needs!("python3");
    let api = Api::new();
    let bearer = format!("Bearer {}", api.web.token);
    let first = api.get("/units");
    let tag = first.head.lines().find_map(|line| line.strip_prefix("etag: ")).expect("a tag");
    let again = || {
        let headers = [
            ("Host", api.web.address.as_str()),
            ("Authorization", &bearer),
            ("If-None-Match", tag),
        ];
        api.web.send("GET", "/api/v1/units", &headers, "")
    };
    let known = again();
    assert_eq!((known.status, known.body.as_str()), (304, ""), "{}", known.head);
    api.call("units.stop", "/units/web/stop", None);
    api.call("units.await", "/units/web/await?until=stopped", None);
    let changed = again();
    assert_eq!(changed.status, 200);
    assert_ne!(changed.body, first.body);
    assert_eq!(problem(&api.get("/units?limit=x")).0, 400);
}
