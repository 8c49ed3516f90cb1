//! Reads the image, the command and the health scripts from the manifest of a container's agent. Ostler ignores its
//! other keys.

use crate::app::{Unread, open};
use ostler_model::{Check, HealthSpec};
use serde::Deserialize;
use std::path::Path;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct AgentManifest {
    pub container: Option<String>,
    pub agent: Option<String>,
    pub start: Option<String>,
    #[serde(default)]
    pub health: Health,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Health {
    pub liveness: Option<Probe>,
    pub readiness: Option<Probe>,
}

/// Times are in seconds.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Probe {
    pub script: String,
    #[serde(default = "one")]
    interval: f64,
    #[serde(default = "five")]
    timeout: f64,
    #[serde(default = "five_times")]
    failure_threshold: u32,
    #[serde(default = "once")]
    success_threshold: u32,
}

fn one() -> f64 {
    1.0
}

fn five() -> f64 {
    5.0
}

fn five_times() -> u32 {
    5
}

fn once() -> u32 {
    1
}

/// An error in a manifest, with its file name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ManifestError {
    /// A script name that is not allowed.
    Name(String),
    /// The manifest cannot be read. This affects only its own unit.
    Syntax(String),
}

pub(crate) fn read(path: &Path) -> Result<AgentManifest, ManifestError> {
    let file = path.display();
    let text = open(path).map_err(|unread| {
        ManifestError::Syntax(match unread {
            Unread::Closed(why) => format!("{file} cannot be read: {why}"),
            Unread::Bad(problem) => problem.to_string(),
        })
    })?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<AgentManifest, ManifestError> {
    let file = path.display();
    let manifest: AgentManifest = serde_json::from_str(text)
        .map_err(|error| ManifestError::Syntax(format!("{file}: {error}")))?;
    let Health { liveness, readiness } = &manifest.health;
    for (name, probe) in [("liveness", liveness), ("readiness", readiness)] {
        let Some(probe) = probe else { continue };
        if !is_script(&probe.script) {
            return Err(ManifestError::Name(format!(
                "{file}: health.{name}.script is {:?}, but must be a file name in /code, without / and ..",
                probe.script
            )));
        }
        let are_times = [probe.interval, probe.timeout].iter().all(|s| *s > 0.0 && *s < 1e9);
        if !are_times || probe.failure_threshold == 0 || probe.success_threshold == 0 {
            return Err(ManifestError::Syntax(format!(
                "{file}: interval, timeout and thresholds of health.{name} must be more than 0"
            )));
        }
    }
    Ok(manifest)
}

/// Whether the name stays inside its folder.
pub(crate) fn is_script(name: &str) -> bool {
    !name.is_empty() && name != "." && !name.contains("..") && !name.contains(['/', '\\', '\0'])
}

impl Probe {
    pub fn spec(&self) -> HealthSpec {
        let ms = |seconds: f64| ((seconds * 1_000.0) as u64).max(1);
        HealthSpec {
            check: Check::Exec(
                // The name is passed as an argument, so the shell does not interpret it.
                ["sh", "-c", "cd /code && exec sh \"./$1\"", "sh", &self.script]
                    .map(str::to_owned)
                    .into(),
            ),
            interval_ms: ms(self.interval),
            timeout_ms: ms(self.timeout),
            failures: self.failure_threshold,
            successes: self.success_threshold,
            start_after_ms: 0,
        }
    }
}

impl AgentManifest {
    pub fn command(&self) -> Option<Vec<String>> {
        let line =
            [&self.agent, &self.start].into_iter().flatten().find(|line| !line.is_empty())?;
        Some(["sh", "-c", line].map(str::to_owned).into())
    }

    pub fn scripts(&self) -> Vec<String> {
        let Health { liveness, readiness } = &self.health;
        [liveness, readiness].into_iter().flatten().map(|probe| probe.script.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<AgentManifest, ManifestError> {
        parse(Path::new("m.json"), text)
    }

    #[test]
    fn the_defaults_are_those_of_openclawos() {
        let manifest =
            parsed(r#"{"container":"x:1","about":3,"health":{"liveness":{"script":"l.sh"}}}"#);
        let manifest = manifest.expect("valid");
        let spec = manifest.health.liveness.as_ref().expect("a probe").spec();
        assert_eq!((spec.interval_ms, spec.timeout_ms), (1_000, 5_000));
        assert_eq!((spec.failures, spec.successes), (5, 1));
        assert_eq!(manifest.scripts(), ["l.sh"]);
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in ["", ".", "..", "a/b", "/etc/x", "../x", "a\\\\b", "x..y", "a\\u0000b"] {
            let text = format!(r#"{{"health":{{"readiness":{{"script":"{name}"}}}}}}"#);
            let Err(ManifestError::Name(description)) = parsed(&text) else {
                panic!("{name:?} was taken")
            };
            assert!(description.starts_with("m.json: health.readiness.script"), "{description}");
        }
    }

    #[test]
    fn what_is_broken_names_its_file() {
        for text in [
            "",
            "{",
            "[]",
            r#"{"health":{"liveness":{"script":7}}}"#,
            r#"{"health":{"liveness":{"script":"a","interval":0}}}"#,
        ] {
            let Err(ManifestError::Syntax(description)) = parsed(text) else {
                panic!("{text:?} was taken")
            };
            assert!(description.starts_with("m.json: "), "{description}");
        }
    }
}
