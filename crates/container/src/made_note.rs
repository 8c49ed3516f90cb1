//! That there may be a container of ours is written down before it is made, and forgotten when it is gone: what a shim
//! that was killed left behind is found by its supervisor, also by one that starts much later.

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
    // Never half of it.
    write_atomic(Path::new(&order.made_note()), &text, 0o600, Durability::Cached)
}

/// Those that we made and did not see go.
pub(crate) fn ids(order: &ContainerOrder) -> Vec<String> {
    read(order).map(|made| made.ids).unwrap_or_default()
}

/// The engine may have made one without our having heard of it.
pub(crate) fn is_asked_for(order: &ContainerOrder) -> bool {
    read(order).is_some_and(|made| made.is_asked_for)
}

/// One will be asked for.
pub(crate) fn begin(order: &ContainerOrder) -> IoResult<()> {
    write(order, ids(order), Stage::AskedFor)
}

/// This one is ours.
pub(crate) fn own(order: &ContainerOrder, id: &str) -> IoResult<()> {
    let mut ids = ids(order);
    if !ids.iter().any(|known| known == id) {
        ids.push(id.to_owned());
    }
    write(order, ids, Stage::Owned)
}

/// It runs on without its unit, until `down` or `stop`. One that was never made is not left.
pub(crate) fn leave(order: &ContainerOrder) {
    if let Some(made) = read(order) {
        let _ = write(order, made.ids, Stage::Left);
    }
}

/// It is gone.
pub(crate) fn forget(order: &ContainerOrder) {
    let _ = std::fs::remove_file(order.made_note());
}

/// Removes whatever is left of a unit's containers.
pub(crate) async fn clear(docker: &Docker, order: &ContainerOrder) -> Result<(), Error> {
    for one in ours::find(docker, order).await? {
        ours::remove(docker, &one.id).await?;
    }
    Ok(())
}
