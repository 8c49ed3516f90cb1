//! A list in pages: `{"items": […], "next": CURSOR}`. The cursor is the key of the last item, so a page continues at the
//! same place although the list has changed.

use super::operations::Pairs;
use super::query::{bad, take};
use crate::http_error::HttpProblem;
use axum::http::StatusCode;
use ostler_model::app_wire::FaultCode;
use ostler_ops::{BadParam, Route};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::cmp::Ordering;

const LIMIT: usize = 500;
const LIMIT_MOST: usize = 1_000;

/// The parameters `limit` and `cursor` of a list.
#[derive(Debug)]
pub struct Paging {
    limit: usize,
    /// Only for a list that is cut here.
    cursor: Option<String>,
}

#[derive(Serialize)]
struct Page<'a> {
    items: &'a [&'a RawValue],
    /// `None` at the end.
    next: Option<String>,
}

impl Paging {
    /// Takes its parameters out. The cursor of an operation with pages becomes its own parameter.
    pub fn take(route: Route, pairs: &mut Pairs) -> Result<Self, BadParam> {
        let after = match route {
            Route::List(..) => None,
            Route::Pages(_, _, after) => Some(after),
            Route::At(_) | Route::Follow(..) | Route::Internal(_) => {
                return Ok(Self { limit: LIMIT_MOST, cursor: None });
            }
        };
        let limit = match take(pairs, "limit")? {
            None => LIMIT,
            Some(text) => match text.parse() {
                Ok(limit @ 1..=LIMIT_MOST) => limit,
                _ => {
                    let message = format!("{text:?} is not a number from 1 to {LIMIT_MOST}");
                    return Err(bad("limit", message));
                }
            },
        };
        let cursor = take(pairs, "cursor")?;
        let Some(after) = after else { return Ok(Self { limit, cursor }) };
        if let Some(cursor) = cursor {
            pairs.retain(|(name, _)| name != after);
            pairs.push((after.to_owned(), cursor));
        }
        Ok(Self { limit, cursor: None })
    }

    /// The page of a whole list.
    pub fn cut_sorted(&self, list: &str, key: &str) -> Result<String, HttpProblem> {
        let mut items: Vec<(Key, &RawValue)> =
            items(list)?.into_iter().map(|item| (Key::of(item, key), item)).collect();
        items.sort_by(|one, other| one.0.cmp(&other.0));
        if let Some(cursor) = &self.cursor {
            items.retain(|(key, _)| key.is_after(cursor));
        }
        let is_last = items.len() <= self.limit;
        items.truncate(self.limit);
        let next = items.last().filter(|_| !is_last).map(|(key, _)| key.text());
        page(&items.iter().map(|(_, item)| *item).collect::<Vec<_>>(), next)
    }

    /// The beginning of a page that the operation has made. Only an empty one is the end.
    pub fn cut(&self, list: &str, key: &str) -> Result<String, HttpProblem> {
        let mut items = items(list)?;
        items.truncate(self.limit);
        let next = items.last().map(|item| Key::of(item, key).text());
        page(&items, next)
    }
}

fn items(list: &str) -> Result<Vec<&RawValue>, HttpProblem> {
    serde_json::from_str(list).map_err(internal)
}

fn page(items: &[&RawValue], next: Option<String>) -> Result<String, HttpProblem> {
    serde_json::to_string(&Page { items, next }).map_err(internal)
}

fn internal(cause: serde_json::Error) -> HttpProblem {
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    HttpProblem::new(status, FaultCode::InternalError, cause.to_string())
}

/// The value of the field by which a list is sorted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    Number(i64),
    Text(String),
}

impl Key {
    pub fn of(item: &RawValue, field: &str) -> Self {
        let item: Value = serde_json::from_str(item.get()).unwrap_or_default();
        match &item[field] {
            Value::String(text) => Key::Text(text.clone()),
            other => Key::Number(other.as_i64().unwrap_or_default()),
        }
    }

    pub fn text(&self) -> String {
        match self {
            Key::Number(number) => number.to_string(),
            Key::Text(text) => text.clone(),
        }
    }

    fn is_after(&self, cursor: &str) -> bool {
        let order = match self {
            Key::Number(number) => number.cmp(&cursor.parse().unwrap_or(i64::MIN)),
            Key::Text(text) => text.as_str().cmp(cursor),
        };
        order == Ordering::Greater
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn walk(list: &Value, limit: usize) -> Vec<String> {
        let (mut cursor, mut seen) = (None, Vec::new());
        loop {
            let paging = Paging { limit, cursor };
            let page = paging.cut_sorted(&list.to_string(), "unit").expect("a page");
            let page: Value = serde_json::from_str(&page).expect("JSON");
            let items = page["items"].as_array().expect("a list");
            assert!(items.len() <= limit);
            seen.extend(items.iter().map(|item| item["unit"].as_str().expect("text").to_owned()));
            match page["next"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => return seen,
            }
        }
    }

    #[test]
    fn pages_together_are_the_list() {
        let list: Vec<Value> =
            (0..25).rev().map(|n| json!({ "unit": format!("u{n:02}") })).collect();
        let all: Vec<String> = (0..25).map(|n| format!("u{n:02}")).collect();
        for limit in [1, 4, 5, 24, 25, 26] {
            assert_eq!(walk(&json!(list), limit), all, "{limit}");
        }
        assert!(walk(&json!([]), 5).is_empty());
    }

    #[test]
    fn a_cursor_stays_where_it_is_if_its_item_is_gone() {
        let paging = Paging { limit: 2, cursor: Some("b".to_owned()) };
        let list = json!([{ "unit": "d" }, { "unit": "a" }, { "unit": "c" }, { "unit": "e" }]);
        let page = paging.cut_sorted(&list.to_string(), "unit").expect("a page");
        assert_eq!(page, r#"{"items":[{"unit":"c"},{"unit":"d"}],"next":"d"}"#);
    }

    #[test]
    fn a_cursor_becomes_the_parameter_of_the_operation() {
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let mut pairs = vec![pair("cursor", "7"), pair("limit", "3"), pair("afterSeq", "1")];
        let paging =
            Paging::take(Route::Pages("/e", "seq", "afterSeq"), &mut pairs).expect("reads");
        assert_eq!((paging.limit, paging.cursor, pairs), (3, None, vec![pair("afterSeq", "7")]));
        for text in ["0", "1001", "-1", "many"] {
            let mut pairs = vec![pair("limit", text)];
            let bad = Paging::take(Route::List("/u", "unit"), &mut pairs).expect_err("refused");
            assert_eq!(bad.field.as_deref(), Some("limit"));
        }
        let page = paging_of(2).cut(r#"[{"seq":1},{"seq":5},{"seq":6}]"#, "seq").expect("a page");
        assert_eq!(page, r#"{"items":[{"seq":1},{"seq":5}],"next":"5"}"#);
        assert_eq!(paging_of(2).cut("[]", "seq").expect("a page"), r#"{"items":[],"next":null}"#);
    }

    fn paging_of(limit: usize) -> Paging {
        Paging { limit, cursor: None }
    }
}
