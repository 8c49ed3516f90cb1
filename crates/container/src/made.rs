//! That there may be a container of ours is written down before it is made, and forgotten when it is gone: what a shim
//! that was killed left behind is found by its supervisor, also by one that starts much later.

use crate::engine::VARIABLES;
use crate::ours;
use bollard::Docker;
use bollard::errors::Error;
use ostler_model::{ContainerMade, ContainerOrder, ContainerSpec};
use std::collections::BTreeMap;

pub(crate) fn note(order: &ContainerOrder) -> std::io::Result<()> {
    let listed = order.spec.listed.clone();
    let made = ContainerMade {
        order: ContainerOrder {
            spec: ContainerSpec { listed, ..ContainerSpec::default() },
            env: BTreeMap::new(),
            ..order.clone()
        },
        environment: VARIABLES
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)))
            .collect(),
    };
    let text = serde_json::to_vec(&made)?;
    // Never half of it.
    let path = order.made_note();
    let beside = format!("{path}-{}", std::process::id());
    std::fs::write(&beside, text)?;
    std::fs::rename(beside, path)
}

/// It is gone, or nobody of ours has to see to it any more.
pub(crate) fn forget(order: &ContainerOrder) {
    let _ = std::fs::remove_file(order.made_note());
}

/// Removes whatever is left of a unit's containers.
pub(crate) async fn clear(docker: &Docker, order: &ContainerOrder) -> Result<(), Error> {
    for one in ours::find(docker, order).await? {
        ours::remove(docker, &one.id).await?;
    }
    let _ = std::fs::remove_file(order.place_note());
    forget(order);
    Ok(())
}
