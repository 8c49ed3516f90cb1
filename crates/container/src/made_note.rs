//! A note of a container that may exist. It is written before the container is created and removed after it is gone. So
//! a supervisor, even one that starts much later, finds what a killed shim left behind.

use crate::engine::VARIABLES;
use crate::ours;
use bollard::Docker;
use bollard::errors::Error;
use ostler_model::{ContainerMade, ContainerOrder, ContainerSpec};
use ostler_sys::{Durability, write_atomic};
use std::collections::BTreeMap;
use std::io::Result as IoResult;
use std::path::Path;

fn read(order: &ContainerOrder) -> Option<ContainerMade> {
    serde_json::from_slice(&std::fs::read(order.made_note()).ok()?).ok()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    AskedFor,
    Owned,
    Left,
}

fn write(order: &ContainerOrder, ids: Vec<String>, stage: Stage) -> IoResult<()> {
    let ContainerSpec { listed, name, .. } = order.spec.clone();
    let made = ContainerMade {
        order: ContainerOrder {
            spec: ContainerSpec { listed, name, ..ContainerSpec::default() },
            env: BTreeMap::new(),
            ..order.clone()
        },
        environment: VARIABLES
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)))
            .collect(),
        ids,
        is_asked_for: stage == Stage::AskedFor,
        is_left: stage == Stage::Left,
    };
    let text = serde_json::to_vec(&made)?;
    write_atomic(Path::new(&order.made_note()), &text, 0o600, Durability::Cached)
}

/// The ids of containers that were created and not yet removed.
pub(crate) fn ids(order: &ContainerOrder) -> Vec<String> {
    read(order).map(|made| made.ids).unwrap_or_default()
}

/// Whether the engine may have created a container without this being known.
pub(crate) fn is_asked_for(order: &ContainerOrder) -> bool {
    read(order).is_some_and(|made| made.is_asked_for)
}

/// Records that a container will be created.
pub(crate) fn begin(order: &ContainerOrder) -> IoResult<()> {
    write(order, ids(order), Stage::AskedFor)
}

/// Records a created container.
pub(crate) fn own(order: &ContainerOrder, id: &str) -> IoResult<()> {
    let mut ids = ids(order);
    if !ids.iter().any(|known| known == id) {
        ids.push(id.to_owned());
    }
    write(order, ids, Stage::Owned)
}

/// Records that the container runs on without its unit, until `down` or `stop`. Does nothing if none was created.
pub(crate) fn leave(order: &ContainerOrder) {
    if let Some(made) = read(order) {
        let _ = write(order, made.ids, Stage::Left);
    }
}

/// Records that the container is gone.
pub(crate) fn forget(order: &ContainerOrder) {
    let _ = std::fs::remove_file(order.made_note());
}

/// Removes all containers of the unit.
pub(crate) async fn clear(docker: &Docker, order: &ContainerOrder) -> Result<(), Error> {
    for one in ours::find(docker, order).await? {
        ours::remove(docker, &one.id).await?;
    }
    Ok(())
}
