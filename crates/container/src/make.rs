//! Creates a container from its specification.

use crate::ours::labels;
use bollard::Docker;
use bollard::errors::Error;
use bollard::models::{
    ContainerCreateBody, HostConfig, PortBinding, ResourcesUlimits, RestartPolicy,
    RestartPolicyNameEnum,
};
use bollard::query_parameters::{CreateContainerOptions, StartContainerOptions};
use ostler_model::ContainerOrder;
use std::collections::HashMap;

/// Creates and starts the container. Returns its id.
pub(crate) async fn make(docker: &Docker, order: &ContainerOrder) -> Result<String, Error> {
    let options =
        CreateContainerOptions { name: Some(order.name()), ..CreateContainerOptions::default() };
    let made = docker.create_container(Some(options), body(order)).await?;
    // Without the note, the container is still known by its name and labels.
    let _ = crate::made_note::own(order, &made.id);
    match docker.start_container(&made.id, None::<StartContainerOptions>).await {
        Ok(()) => Ok(made.id),
        Err(error) => {
            let _ = crate::ours::remove(docker, &made.id).await;
            Err(error)
        }
    }
}

fn body(order: &ContainerOrder) -> ContainerCreateBody {
    let (ports, bindings) = ports(&order.spec.ports);
    let memory = order.resources.memory_bytes.map(|bytes| bytes as i64);
    ContainerCreateBody {
        image: Some(order.spec.image.clone()),
        cmd: order.spec.command.clone(),
        env: Some(order.env.iter().map(|(name, value)| format!("{name}={value}")).collect()),
        labels: Some(labels(order)),
        exposed_ports: Some(ports),
        host_config: Some(HostConfig {
            binds: Some(order.spec.volumes.clone()),
            port_bindings: Some(bindings),
            network_mode: order.spec.network.clone(),
            memory,
            // No swap in addition: by default the limit would be doubled.
            memory_swap: memory,
            cpu_shares: order.resources.cpu_shares.map(|shares| shares as i64),
            ulimits: order.resources.descriptors.map(|most| {
                let most = Some(most as i64);
                vec![ResourcesUlimits { name: Some("nofile".to_owned()), soft: most, hard: most }]
            }),
            // The supervisor restarts the container, not the engine.
            restart_policy: Some(RestartPolicy {
                name: Some(RestartPolicyNameEnum::NO),
                maximum_retry_count: None,
            }),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    }
}

type Bindings = HashMap<String, Option<Vec<PortBinding>>>;

/// `[address:]host:inside[/protocol]`
fn ports(declared: &[String]) -> (Vec<String>, Bindings) {
    let (mut exposed, mut bindings) = (Vec::new(), Bindings::new());
    for text in declared {
        let (text, protocol) = text.split_once('/').unwrap_or((text, "tcp"));
        let mut parts: Vec<&str> = text.rsplitn(3, ':').collect();
        parts.reverse();
        let (address, host, inside) = match parts[..] {
            [address, host, inside] => (Some(address.to_owned()), host, inside),
            [host, inside] => (None, host, inside),
            [inside] => (None, inside, inside),
            _ => continue,
        };
        let inside = format!("{inside}/{protocol}");
        exposed.push(inside.clone());
        let binding = PortBinding { host_ip: address, host_port: Some(host.to_owned()) };
        bindings.entry(inside).or_default().get_or_insert_default().push(binding);
    }
    (exposed, bindings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_printed_as_people_write_them() {
        let text = ["8080:80", "127.0.0.1:53:53/udp", "9000"].map(str::to_owned);
        let (exposed, bindings) = ports(&text);
        assert_eq!(exposed, ["80/tcp", "53/udp", "9000/tcp"]);
        let dns = bindings["53/udp"].as_ref().expect("bound");
        assert_eq!(dns[0].host_ip.as_deref(), Some("127.0.0.1"));
        assert_eq!(
            bindings["80/tcp"].as_ref().expect("bound")[0].host_port.as_deref(),
            Some("8080")
        );
    }
}
