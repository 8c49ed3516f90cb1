//! What a unit says of its container.

use crate::file::UnitTable;
use crate::resolve::{Reader, resolve};
use ostler_model::ContainerSpec;
use std::ops::Range;
use std::path::Path;

/// What the way to an engine is told by.
pub const ENGINE_VARIABLES: [&str; 5] =
    ["CONTAINER_HOST", "CONTAINER_RUNTIME", "CONTAINERS_CONF", "DOCKER_HOST", "XDG_RUNTIME_DIR"];

impl Reader<'_> {
    pub fn container(
        &mut self,
        name: &str,
        table: &UnitTable,
        at: Range<usize>,
    ) -> Option<ContainerSpec> {
        let Some(image) = table.image.as_ref().filter(|image| !image.0.is_empty()) else {
            let hint = "add image = \"name:tag\"";
            self.findings.add(at, format!("unit {name:?} is a container and has no image"), hint);
            return None;
        };
        let folder = self.findings.file.parent().unwrap_or(Path::new(".")).to_owned();
        let volumes = table.volumes.iter().flatten().filter_map(|volume| {
            let (host, inside) = match volume.0.split_once(':') {
                Some((host, inside)) if inside.starts_with('/') => (host, inside),
                _ => {
                    let told = format!("{:?} is no volume", volume.0);
                    let hint = "write \"host/path:/inside\" or \"host/path:/inside:ro\"";
                    self.findings.add(volume.span(), told, hint);
                    return None;
                }
            };
            // A name without a slash is the engine's own volume.
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
            self.findings.add(port.span(), format!("{:?} is no port", port.0), hint);
            None
        });
        let ports = ports.collect();
        if let Some(name) = table.container_name.as_ref().filter(|name| !is_name(&name.0)) {
            let hint = "letters, digits, and _ . - after the first";
            let told = format!("{:?} cannot be a container's name", name.0);
            self.findings.add(name.span(), told, hint);
        }
        Some(ContainerSpec {
            image: image.0.to_string(),
            command: table.command.as_ref().map(crate::words::Command::argv),
            name: table.container_name.as_ref().map(|name| name.0.to_string()),
            volumes,
            ports,
            network: table.network.as_ref().map(|network| network.0.to_string()),
        })
    }
}

/// What engines take.
pub(crate) fn is_name(name: &str) -> bool {
    name.len() > 1
        && name.len() <= 128
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
}

fn is_port(text: &str) -> bool {
    let (text, protocol) = text.split_once('/').unwrap_or((text, "tcp"));
    let is_number = |text: &str| text.parse::<u16>().is_ok_and(|port| port > 0);
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
    fn ports() {
        for good in ["80", "8080:80", "127.0.0.1:8080:80", "53:53/udp", "[::1]:8080:80"] {
            assert!(super::is_port(good), "{good}");
        }
        for bad in ["", "0:80", "80:", "x", "8080:80/http", "host:8080:80", "70000", "1:2:3:4"] {
            assert!(!super::is_port(bad), "{bad}");
        }
    }
}
