//! The container of a unit.

use crate::file::UnitTable;
use crate::probes::{self, AgentManifest, ManifestError, Probe};
use crate::resolve::{Reader, resolve};
use crate::scalars::parse_port;
use ostler_model::{Check, ContainerSpec, Preset, ReadySpec, RestartPolicy, UnitSpec};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

const FOREVER_MS: u64 = u64::MAX / 4;

/// Environment variables that select the container engine.
pub const ENGINE_VARIABLES: [&str; 6] = [
    "CONTAINER_HOST",
    "CONTAINER_RUNTIME",
    "CONTAINERS_CONF",
    "CONTAINERS_STORAGE_CONF",
    "DOCKER_HOST",
    "XDG_RUNTIME_DIR",
];

impl Reader<'_> {
    pub fn container(
        &mut self,
        name: &str,
        table: &UnitTable,
        at: Range<usize>,
    ) -> Option<ContainerSpec> {
        let (manifest, broken) = self.agent_manifest(table);
        let own_image =
            manifest.container.clone().or_else(|| broken.as_ref().map(|_| String::new()));
        let own = table.image.as_ref().map(|image| image.0.to_string());
        let Some(image) = own.filter(|image| !image.is_empty()).or(own_image) else {
            let hint = "add image = \"name:tag\"";
            self.findings.add(at, format!("unit {name:?} is a container and has no image"), hint);
            return None;
        };
        let folder = self.findings.file.parent().unwrap_or(Path::new(".")).to_owned();
        let volumes = table.volumes.iter().flatten().filter_map(|volume| {
            let (host, inside) = match volume.0.split_once(':') {
                Some((host, inside)) if inside.starts_with('/') => (host, inside),
                _ => {
                    let description = format!("{:?} is not a volume", volume.0);
                    let hint = "write \"host/path:/inside\" or \"host/path:/inside:ro\"";
                    self.findings.add(volume.span(), description, hint);
                    return None;
                }
            };
            // A name without a slash is a named volume of the engine.
            let host = if host.contains('/') || host.starts_with('.') {
                resolve(&folder, host).display().to_string()
            } else {
                host.to_owned()
            };
            Some(format!("{host}:{inside}"))
        });
        let volumes = volumes.collect();
        let ports = table.ports.iter().flatten().filter_map(|port| {
            if is_port(&port.0) {
                return Some(port.0.to_string());
            }
            let hint = "write \"8080:80\", \"127.0.0.1:8080:80\" or \"53:53/udp\"";
            self.findings.add(port.span(), format!("{:?} is not a port", port.0), hint);
            None
        });
        let ports = ports.collect();
        if let Some(name) = table.container_name.as_ref().filter(|name| !is_name(&name.0)) {
            let hint = "use two or more letters, digits, and _ . - after the first character";
            let description = format!("{:?} is not a valid container name", name.0);
            self.findings.add(name.span(), description, hint);
        }
        Some(ContainerSpec {
            image,
            command: table
                .command
                .as_ref()
                .map(crate::scalars::Command::argv)
                .or_else(|| manifest.command()),
            name: table.container_name.as_ref().map(|name| name.0.to_string()),
            volumes,
            ports,
            network: table.network.as_ref().map(|network| network.0.to_string()),
            scripts: manifest.scripts(),
            readiness: manifest.health.readiness.as_ref().map(Probe::spec),
            broken,
            listed: None,
        })
    }

    /// A unit that names an image must be a container.
    pub fn no_container(&mut self, name: &str, table: &UnitTable, at: Range<usize>) {
        let hint = "add backend = \"container\", or remove the key";
        if table.image.is_some() {
            let description = format!("unit {name:?} has an image but is not a container");
            self.findings.add(at, description, hint);
        }
        for (key, list) in [("volumes", &table.volumes), ("ports", &table.ports)] {
            if let Some(first) = list.iter().flatten().next() {
                self.findings.add(
                    first.span(),
                    format!("{key} needs backend = \"container\""),
                    hint,
                );
            }
        }
    }

    /// Errors in a manifest affect only its own unit, except a script name that is not allowed.
    fn agent_manifest(&mut self, table: &UnitTable) -> (AgentManifest, Option<String>) {
        let Some(path) = &table.manifest else { return (AgentManifest::default(), None) };
        let folder = self.findings.file.parent().unwrap_or(Path::new("."));
        match probes::read(&resolve(folder, &path.0)) {
            Ok(manifest) => (manifest, None),
            Err(ManifestError::Syntax(why)) => (AgentManifest::default(), Some(why)),
            Err(ManifestError::Name(why)) => {
                let hint = "write only the script's file name, for example \"liveness.sh\"";
                self.findings.add(path.span(), why, hint);
                (AgentManifest::default(), None)
            }
        }
    }

    /// The manifest gives the health checks; the engine's shim reports that the container runs.
    pub fn contained(&mut self, table: &UnitTable, container: ContainerSpec, spec: &mut UnitSpec) {
        if spec.health.is_none() {
            let (manifest, _) = self.agent_manifest(table);
            spec.health = manifest.health.liveness.as_ref().map(Probe::spec);
        }
        make_container_run(container, spec);
    }
}

/// Makes the unit run this container.
pub(crate) fn make_container_run(container: ContainerSpec, spec: &mut UnitSpec) {
    if !container.scripts.is_empty() && spec.liveness_backoff.is_none() {
        spec.liveness_backoff = Some(RestartPolicy::preset(Preset::Crashloop).backoff);
    }
    if spec.ready.is_none() {
        // The shim reports when the container runs. If the engine is unavailable, the wait has no timeout.
        let check = container.readiness.as_ref().map_or(Check::Notify, |own| own.check.clone());
        spec.ready = Some(ReadySpec { check, timeout_ms: FOREVER_MS });
    }
    spec.container = Some(Arc::new(container));
}

/// The names that engines accept.
pub(crate) fn is_name(name: &str) -> bool {
    name.len() > 1
        && name.len() <= 128
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
}

fn is_port(text: &str) -> bool {
    let (text, protocol) = text.split_once('/').unwrap_or((text, "tcp"));
    let is_number = |text: &str| parse_port(text).is_some();
    let parts: Vec<&str> = text.rsplitn(3, ':').collect();
    let is_address = |text: &str| text.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok();
    matches!(protocol, "tcp" | "udp" | "sctp")
        && match parts[..] {
            [inside] => is_number(inside),
            [inside, host] => is_number(inside) && is_number(host),
            [inside, host, address] => is_number(inside) && is_number(host) && is_address(address),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    #[test]
    fn ports_are_parsed() {
        for good in ["80", "8080:80", "127.0.0.1:8080:80", "53:53/udp", "[::1]:8080:80"] {
            assert!(super::is_port(good), "{good}");
        }
        for bad in [
            "",
            "0:80",
            "80:",
            "x",
            "8080:80/http",
            "host:8080:80",
            "70000",
            "1:2:3:4",
            "+80",
            "8080:+80",
        ] {
            assert!(!super::is_port(bad), "{bad}");
        }
    }
}
