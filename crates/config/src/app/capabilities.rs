//! What an app's manifest requests: environment variables and resource limits.

use crate::findings::Findings;
use crate::json::{self, Node, Unknown};
use ostler_model::Resources;

#[derive(Clone, Debug, Default)]
pub(crate) struct Capabilities {
    /// Names of environment variables.
    pub env: Vec<String>,
    pub resources: Resources,
}

/// No program runs in less. A smaller number was probably meant in another unit.
pub(crate) const MEMORY_LEAST: u64 = 1 << 20;
pub(crate) const MEMORY_MOST: u64 = 1 << 50;
pub(crate) const SHARES_MOST: u64 = 262_144;
/// The program has three descriptors at its start, and its socket is a fourth.
pub(crate) const FDS_LEAST: u64 = 8;
pub(crate) const FDS_MOST: u64 = 1 << 30;

pub(super) fn capabilities(findings: &mut Findings<'_>, node: &Node) -> Capabilities {
    let mut found = Capabilities::default();
    let Some(whole) = json::object(findings, node, "capabilities") else { return found };
    json::known(findings, whole, &["resources"], Unknown::Warned);
    let Some(node) = whole.get("resources") else { return found };
    let Some(resources) = json::object(findings, node, "resources") else { return found };
    let keys = ["env", "limits", "fs", "network"];
    json::known(findings, resources, &keys, Unknown::Warned);
    if let Some(node) = resources.get("env") {
        found.env = variables(findings, node);
    }
    if let Some(node) = resources.get("limits") {
        found.resources = limits(findings, node);
    }
    // Ostler does not enforce these, but other readers may rely on their form.
    for (name, parts) in [("fs", &["read", "write"][..]), ("network", &["hosts"])] {
        let Some(object) = resources.get(name).and_then(|node| json::object(findings, node, name))
        else {
            continue;
        };
        for part in parts {
            if let Some(node) = object.get(part) {
                json::texts(findings, node, &format!("{name}.{part}"));
            }
        }
    }
    found
}

fn variables(findings: &mut Findings<'_>, node: &Node) -> Vec<String> {
    let named = json::texts(findings, node, "env").unwrap_or_default();
    let mut found = Vec::new();
    for (name, span) in named {
        let is_right = name.len() <= 256
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if is_right {
            found.push(name.to_owned());
            continue;
        }
        let hint = match name.split_once('=') {
            Some(_) => "write only its name; the value comes from the environment of the caller",
            None => "use letters, digits and _; the first character is no digit",
        };
        let shown: String = name.chars().take(60).collect();
        findings.add(span, format!("{shown:?} is not a valid variable name"), hint);
    }
    found
}

fn limits(findings: &mut Findings<'_>, node: &Node) -> Resources {
    let mut found = Resources::default();
    let Some(limits) = json::object(findings, node, "limits") else { return found };
    // An unknown limit would be ignored silently, so it is an error.
    json::known(findings, limits, &["maxMemory", "cpuShares", "maxFds"], Unknown::Wrong);
    let mut whole = |name: &str, least: u64, most: u64, right: &str| {
        let node = limits.get(name)?;
        json::whole(findings, node, name, least..=most, right)
    };
    let right = "a number of bytes, at least 1048576; 536870912 is 512 MiB";
    found.memory_bytes = whole("maxMemory", MEMORY_LEAST, MEMORY_MOST, right);
    let right = "between 1 and 262144; 1024 is the weight of an app without this key";
    found.cpu_shares = whole("cpuShares", 1, SHARES_MOST, right);
    let right = "the maximum number of open files, at least 8; 1024 is usual";
    found.descriptors = whole("maxFds", FDS_LEAST, FDS_MOST, right);
    found
}
