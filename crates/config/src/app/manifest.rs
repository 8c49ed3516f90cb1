//! Reads and checks `openclawos.manifest.json`. Unknown fields are kept and ignored.

use super::capabilities::{Capabilities, capabilities};
use super::entry::{Entry, entry};
use crate::findings::Findings;
use crate::json::{self, Node, Object};
use crate::problem::{Problem, nearest};
use serde_json::Value;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A manifest without errors.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    pub id: String,
    pub path: PathBuf,
    pub folder: PathBuf,
    pub argv: Vec<String>,
    pub capabilities: Capabilities,
    /// The complete JSON value.
    pub value: Value,
    pub id_at: Range<usize>,
    pub schema_at: Range<usize>,
    /// Findings that are probably mistakes, but no errors.
    pub warnings: Vec<Problem>,
}

/// The fields that Ostler reads.
const FIELDS: &[&str] = &[
    "id",
    "name",
    "version",
    "description",
    "type",
    "main",
    "command",
    "protocol",
    "capabilities",
    "configSchema",
    "license",
    "icon",
    "tags",
];

const ID_MOST: usize = 214;
const ID_HINT: &str = "use letters, digits and - _ . ~ as in an npm package: telegram, or @scope/telegram; at most 214 characters";

impl Manifest {
    /// Parses the text. The entry point is checked only if it is used.
    pub fn read(path: &Path, text: &str, runs: Entry) -> Result<Self, Vec<Problem>> {
        let mut findings = Findings::new(path, text);
        let read = json::parse(&mut findings).and_then(|node| check(&mut findings, &node, runs));
        match read {
            Some(manifest) if findings.is_empty() => {
                Ok(Self { warnings: findings.warnings(), ..manifest })
            }
            _ => Err(findings.problems()),
        }
    }

    pub fn config_schema(&self) -> Option<&Value> {
        self.value.get("configSchema")
    }
}

fn check(findings: &mut Findings<'_>, node: &Node, runs: Entry) -> Option<Manifest> {
    let whole = json::file(findings, node)?;
    let path = findings.file.to_owned();
    let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
    let id = required(findings, whole, "id", "\"id\": \"@scope/name\"")
        .and_then(|node| id(findings, node));
    if let Some(node) = required(findings, whole, "type", "\"type\": \"app\"") {
        word(findings, node);
    }
    if let Some(node) =
        required(findings, whole, "protocol", "\"protocol\": { \"version\": \"1.0\" }")
    {
        protocol(findings, node);
    }
    descriptions(findings, whole);
    let argv = entry(findings, whole, &folder, runs);
    let capabilities = match whole.get("capabilities") {
        Some(node) => capabilities(findings, node),
        None => Capabilities::default(),
    };
    if let Some(node) = whole.get("configSchema") {
        super::settings::check_schema(findings, node);
    }
    let place = |name: &str| whole.get(name).map_or(whole.begin.clone(), |node| node.span.clone());
    Some(Manifest {
        id: id?,
        path,
        folder,
        argv: argv?,
        capabilities,
        value: node.value(),
        id_at: place("id"),
        schema_at: place("configSchema"),
        warnings: Vec::new(),
    })
}

/// A required field. If a key has a similar name, the message names that key.
pub(super) fn required<'n>(
    findings: &mut Findings<'_>,
    object: &'n Object,
    name: &str,
    example: &str,
) -> Option<&'n Node> {
    let found = object.get(name);
    if found.is_none() {
        missing(findings, object, name, example);
    }
    found
}

pub(super) fn missing(findings: &mut Findings<'_>, object: &Object, name: &str, example: &str) {
    let description = format!("missing key {name:?}");
    let unknown = object.entries.iter().map(|(key, _)| key);
    let near = unknown
        .filter(|key| !FIELDS.contains(&key.name.as_str()))
        .find(|key| key.name.eq_ignore_ascii_case(name) || nearest(&key.name, [name]).is_some());
    match near {
        Some(key) => findings.add(key.span.clone(), description, format!("did you mean {name:?}?")),
        None => findings.add(object.begin.clone(), description, format!("add {example}")),
    }
}

fn id(findings: &mut Findings<'_>, node: &Node) -> Option<String> {
    let id = json::text(findings, node, "id")?;
    let is_part = |part: &str| {
        part.chars().next().is_some_and(|c| c.is_ascii_alphanumeric())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.~".contains(c))
    };
    let is_right = id.len() <= ID_MOST
        && match id.strip_prefix('@') {
            Some(scoped) => {
                scoped.split_once('/').is_some_and(|(scope, name)| is_part(scope) && is_part(name))
            }
            None => is_part(id),
        };
    if !is_right {
        let shown: String = id.chars().take(60).collect();
        let more = if shown.len() < id.len() { "…" } else { "" };
        let description = format!("{:?} is not a valid app id", format!("{shown}{more}"));
        findings.add(node.span.clone(), description, ID_HINT);
        return None;
    }
    Some(id.to_owned())
}

/// `type` is `app` in most manifests.
fn word(findings: &mut Findings<'_>, node: &Node) {
    let Some(word) = json::text(findings, node, "type") else { return };
    let is_right = (1..=64).contains(&word.len())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if !is_right {
        findings.add(node.span.clone(), "\"type\" must be one word", "write \"app\"");
    }
}

fn protocol(findings: &mut Findings<'_>, node: &Node) {
    let Some(object) = json::object(findings, node, "protocol") else { return };
    let example = "\"version\": \"1.0\"";
    let Some(node) = required(findings, object, "version", example) else { return };
    let Some(version) = json::text(findings, node, "protocol.version") else { return };
    let mut parts = version.split('.');
    let is_number = |part: &str| {
        (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_right =
        parts.next() == Some("1") && version.split('.').count() <= 3 && parts.all(is_number);
    if !is_right {
        let shown: String = version.chars().take(30).collect();
        let description = format!("protocol version {shown:?} is not supported");
        findings.add(node.span.clone(), description, "write \"1.0\"; any 1.x works");
    }
}

/// Fields that only people read.
fn descriptions(findings: &mut Findings<'_>, whole: &Object) {
    for (name, most) in [("name", 214), ("description", 10_000), ("license", 214), ("icon", 10_000)]
    {
        let Some(node) = whole.get(name) else { continue };
        let Some(text) = json::text(findings, node, name) else { continue };
        if text.chars().count() > most {
            let description = format!("{name:?} is too long");
            findings.add(node.span.clone(), description, format!("at most {most} characters"));
        } else if name == "name" && (text.trim().is_empty() || text.contains(char::is_control)) {
            let hint = "write one line that names the app, or remove the key";
            findings.add(node.span.clone(), "this name cannot be displayed", hint);
        }
    }
    if let Some(node) = whole.get("tags") {
        json::texts(findings, node, "tags");
    }
    let Some(node) = whole.get("version") else { return };
    let Some(version) = json::text(findings, node, "version") else { return };
    let is_right = version.len() <= 64
        && version.starts_with(|c: char| c.is_ascii_digit())
        && version.chars().all(|c| c.is_ascii_alphanumeric() || "-+.".contains(c));
    if !is_right {
        let shown: String = version.chars().take(60).collect();
        let description = format!("{shown:?} is not a version");
        findings.add(node.span.clone(), description, "write it as 1.0.0 or 1.0.0-beta.2");
    }
}
