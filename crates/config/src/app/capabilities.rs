//! What an app asks for: variables, and how much of the machine it may have.

use crate::findings::Findings;
use crate::json::{self, Node, Unknown};
use ostler_model::Resources;

#[derive(Clone, Debug, Default)]
pub(crate) struct Capabilities {
    /// Names of variables.
    pub env: Vec<String>,
    pub resources: Resources,
}

/// Less than any program needs: whoever wrote it meant another measure.
pub(crate) const MEMORY_LEAST: u64 = 1 << 20;
pub(crate) const MEMORY_MOST: u64 = 1 << 50;
pub(crate) const SHARES_MOST: u64 = 262_144;
/// The program itself has three, and the socket is one.
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
    // Not ours to enforce, but whoever reads them may rely on their form.
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
            Some(_) => "here only its name; its value is that of whoever declares the app",
            None => "letters, digits and _, and no digit first",
        };
        let shown: String = name.chars().take(60).collect();
        findings.add(span, format!("{shown:?} cannot be a variable's name"), hint);
    }
    found
}

fn limits(findings: &mut Findings<'_>, node: &Node) -> Resources {
    let mut found = Resources::default();
    let Some(limits) = json::object(findings, node, "limits") else { return found };
    // One that is not known would not be kept, and nobody would notice.
    json::known(findings, limits, &["maxMemory", "cpuShares", "maxFds"], Unknown::Wrong);
    let mut whole = |name: &str, least: u64, most: u64, right: &str| {
        let node = limits.get(name)?;
        json::whole(findings, node, name, least..=most, right)
    };
    let right = "it is in bytes, at least 1048576; 536870912 is 512 MiB";
    found.memory_bytes = whole("maxMemory", MEMORY_LEAST, MEMORY_MOST, right);
    let right = "between 1 and 262144; one that says nothing has 1024";
    found.cpu_shares = whole("cpuShares", 1, SHARES_MOST, right);
    let right = "how many files it may have open, at least 8; 1024 is usual";
    found.descriptors = whole("maxFds", FDS_LEAST, FDS_MOST, right);
    found
}
