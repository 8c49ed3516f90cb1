//! Which containers are ours: those that we made. What the engine was asked for and did not tell of is known by its labels
//! and the name we gave it. Neither counts alone: names are free to all, and an image made from a container has its labels.

use bollard::Docker;
use bollard::errors::Error;
use bollard::query_parameters::{
    InspectContainerOptions, ListContainersOptions, RemoveContainerOptions,
};
use ostler_model::ContainerOrder;
use std::collections::HashMap;

pub(crate) const HOME: &str = "ostler.home";
pub(crate) const UNIT: &str = "ostler.unit";
pub(crate) const RUN: &str = "ostler.run";
pub(crate) const DIGEST: &str = "ostler.spec";

pub(crate) fn labels(order: &ContainerOrder) -> HashMap<String, String> {
    let pairs =
        [(HOME, &order.home), (UNIT, &order.unit), (RUN, &order.run), (DIGEST, &order.digest)];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

/// One that is there for this unit.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) id: String,
    pub(crate) is_running: bool,
    pub(crate) is_paused: bool,
    /// Made from what is declared now.
    pub(crate) is_same: bool,
}

pub(crate) async fn find(docker: &Docker, order: &ContainerOrder) -> Result<Vec<Found>, Error> {
    let wanted = vec![format!("{HOME}={}", order.home), format!("{UNIT}={}", order.unit)];
    let options = ListContainersOptions {
        all: true,
        filters: Some(HashMap::from([("label".to_owned(), wanted)])),
        ..ListContainersOptions::default()
    };
    let found = docker.list_containers(Some(options)).await?;
    let (ids, name) = (crate::made::ids(order), order.name());
    let one = |summary: bollard::models::ContainerSummary| {
        let mut names = summary.names.iter().flatten();
        let is_named = names.any(|known| known.trim_start_matches('/') == name);
        let is_known = summary.id.as_ref().is_some_and(|id| ids.contains(id));
        if !is_named && !is_known {
            return None;
        }
        let state = summary.state.map(|state| state.to_string()).unwrap_or_default();
        let digest = summary.labels.as_ref().and_then(|labels| labels.get(DIGEST)).cloned();
        Some(Found {
            id: summary.id?,
            // One that is halted goes on when whoever halted it wants it to.
            is_running: state == "running" || state == "paused",
            is_paused: state == "paused",
            is_same: digest.as_deref() == Some(order.digest.as_str()),
        })
    };
    Ok(found.into_iter().filter_map(one).collect())
}

/// Who has the name that we want.
pub(crate) enum Holder {
    Nobody,
    Own,
    /// Its id, in short.
    Other(String),
}

pub(crate) async fn holder(docker: &Docker, order: &ContainerOrder) -> Result<Holder, Error> {
    let name = order.name();
    let asked = docker.inspect_container(&name, None::<InspectContainerOptions>);
    let found = match asked.await {
        Ok(found) => found,
        Err(Error::DockerResponseServerError { status_code: 404, .. }) => {
            return Ok(Holder::Nobody);
        }
        Err(error) => return Err(error),
    };
    let labels = found.config.and_then(|config| config.labels).unwrap_or_default();
    let has = |name: &str, value: &str| labels.get(name).is_some_and(|own| own == value);
    if has(HOME, &order.home) && has(UNIT, &order.unit) {
        return Ok(Holder::Own);
    }
    Ok(Holder::Other(found.id.unwrap_or_default().chars().take(12).collect()))
}

/// Gone already is gone.
pub(crate) async fn remove(docker: &Docker, id: &str) -> Result<(), Error> {
    let options = RemoveContainerOptions { force: true, v: true, link: false };
    match docker.remove_container(id, Some(options)).await {
        Err(Error::DockerResponseServerError { status_code: 404 | 409, .. }) | Ok(()) => Ok(()),
        Err(error) => Err(error),
    }
}
