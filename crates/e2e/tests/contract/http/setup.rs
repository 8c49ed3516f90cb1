//! Calls below `/api/v1`, whose answers are compared with the OpenAPI document that the same daemon serves.

use crate::apps::http_setup::{Answer, Web};
use crate::http::schema::check;
use serde_json::{Value, json};

/// A unit that does nothing, and ends at once.
pub const CALM: &str = "command = [\"sleep\", \"983\"]\nstop = { grace = \"300ms\" }";

pub struct Api {
    pub web: Web,
    pub document: Value,
}

impl Api {
    /// The app `bot` and the unit `web` are ready.
    pub fn new() -> Self {
        let web = Web::with(&[("web", CALM)]);
        let document = web.get("/openapi.json").json();
        Self { web, document }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.web.get(&format!("/api/v1{path}"))
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.web.ask("POST", &format!("/api/v1{path}"), &body.to_string())
    }

    /// The path and the method of an operation, in the document.
    #[track_caller]
    pub fn route(&self, operation: &str) -> (&str, &str, &Value) {
        let paths = self.document["paths"].as_object().expect("paths");
        let all = paths.iter().flat_map(|(path, methods)| {
            let methods = methods.as_object().expect("methods");
            methods.iter().map(move |(method, described)| (&**path, &**method, described))
        });
        let mut found = all.filter(|(_, _, described)| described["operationId"] == operation);
        found.next().unwrap_or_else(|| panic!("{operation} is not in the document"))
    }

    /// Calls an operation, and compares its answer with the document.
    #[track_caller]
    pub fn call(&self, operation: &str, path: &str, body: Option<Value>) -> Value {
        let (template, method, described) = self.route(operation);
        let whole = format!("/api/v1{path}");
        assert!(fits(template, &whole), "{operation}: {whole} is not {template}");
        let text = body.map(|body| body.to_string()).unwrap_or_default();
        let answer = self.web.ask(&method.to_uppercase(), &whole, &text);
        assert_eq!(answer.status, 200, "{operation} {whole}: {}", answer.body);
        assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
        let json = answer.json();
        let schema = &described["responses"]["200"]["content"]["application/json"]["schema"];
        if let Err(wrong) = check(&self.document, schema, &json) {
            panic!("{operation}: {wrong}\n{json:#}");
        }
        json
    }

    /// Starts a run, and answers its id.
    #[track_caller]
    pub fn spawn(&self, backend: &str, argv: &[&str]) -> String {
        let size = json!({ "columns": 80, "rows": 24 });
        let limits = json!({ "timeoutMs": null, "noOutputTimeoutMs": null, "graceMs": 300 });
        let spec = json!({
            "argv": argv, "cwd": "/", "env": ["PATH=/usr/bin:/bin"], "umask": 18, "backend": backend, "size": size,
            "stdin": false, "sessionId": "http", "unit": null, "scopeKey": null, "limits": limits, "detach": "forbid",
        });
        let record = self.call("runs.spawn", "/runs", Some(spec));
        record["runId"].as_str().expect("an id").to_owned()
    }
}

/// Whether the path is one of the template, whatever its query.
fn fits(template: &str, path: &str) -> bool {
    let path = path.split('?').next().expect("a path");
    let parts = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
    let (template, path) = (parts(template), parts(path));
    let is_same = |(one, other): (&String, &String)| one.starts_with('{') || one == other;
    template.len() == path.len() && template.iter().zip(&path).all(is_same)
}

/// The status, the code and the parameter of an error as RFC 9457 defines it.
#[track_caller]
pub fn problem(answer: &Answer) -> (u16, String, Option<String>) {
    assert!(answer.head.contains("content-type: application/problem+json"), "{}", answer.head);
    let json = answer.json();
    assert_eq!(json["status"], answer.status, "{json}");
    for field in ["type", "title", "detail"] {
        assert!(json[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {json}");
    }
    let text = |name: &str| json[name].as_str().map(str::to_owned);
    (answer.status, text("code").expect("a code"), text("field"))
}
