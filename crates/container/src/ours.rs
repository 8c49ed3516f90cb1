//! Finds the containers that Ostler created. Their ids are recorded. A container whose creation the engine did not
//! confirm is known by its labels together with its name. Neither is enough alone: any container may have the name, and
//! an image made from a container has its labels.

use bollard::Docker;
use bollard::errors::Error;
use bollard::models::ContainerSummary;
use bollard::query_parameters::{
    InspectContainerOptions, ListContainersOptions, RemoveContainerOptions,
};
use ostler_model::ContainerOrder;
use serde::Deserialize;
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

/// An existing container of this unit.
#[derive(Debug)]
pub(crate) struct ExistingContainer {
    pub(crate) id: String,
    pub(crate) is_running: bool,
    pub(crate) is_paused: bool,
    /// Created from the current specification.
    pub(crate) is_same: bool,
}

pub(crate) async fn find(
    docker: &Docker,
    order: &ContainerOrder,
) -> Result<Vec<ExistingContainer>, Error> {
    let wanted = vec![format!("{HOME}={}", order.home), format!("{UNIT}={}", order.unit)];
    let options = ListContainersOptions {
        all: true,
        filters: Some(HashMap::from([("label".to_owned(), wanted)])),
        ..ListContainersOptions::default()
    };
    let listed: Vec<Listed> = match docker.list_containers(Some(options)).await {
        Ok(listed) => listed.into_iter().map(Listed::from).collect(),
        // Podman has states that the client library does not know.
        Err(Error::JsonDataError { message, column, contents }) => serde_json::from_str(&contents)
            .map_err(|_| Error::JsonDataError { message, column, contents })?,
        Err(error) => return Err(error),
    };
    let (ids, name) = (crate::made_note::ids(order), order.name());
    let one = |listed: Listed| {
        let mut names = listed.names.iter();
        let is_named = names.any(|known| known.trim_start_matches('/') == name);
        if !is_named && !ids.contains(&listed.id) {
            return None;
        }
        Some(ExistingContainer {
            // A paused container counts as running: the process that paused it resumes it.
            is_running: listed.state == "running" || listed.state == "paused",
            is_paused: listed.state == "paused",
            is_same: listed.labels.get(DIGEST) == Some(&order.digest),
            id: listed.id,
        })
    };
    Ok(listed.into_iter().filter_map(one).collect::<Vec<ExistingContainer>>())
}

/// The fields used of a container in the engine's list.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listed {
    id: String,
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    state: String,
    #[serde(default)]
    labels: HashMap<String, String>,
}

impl From<ContainerSummary> for Listed {
    fn from(summary: ContainerSummary) -> Self {
        Self {
            id: summary.id.unwrap_or_default(),
            names: summary.names.unwrap_or_default(),
            state: summary.state.map(|state| state.to_string()).unwrap_or_default(),
            labels: summary.labels.unwrap_or_default(),
        }
    }
}

/// The owner of the container's name.
pub(crate) enum NameOwner {
    Nobody,
    Own,
    /// Its short id.
    Other(String),
}

pub(crate) async fn holder(docker: &Docker, order: &ContainerOrder) -> Result<NameOwner, Error> {
    let name = order.name();
    let asked = docker.inspect_container(&name, None::<InspectContainerOptions>);
    let found = match asked.await {
        Ok(found) => found,
        Err(Error::DockerResponseServerError { status_code: 404, .. }) => {
            return Ok(NameOwner::Nobody);
        }
        Err(error) => return Err(error),
    };
    let labels = found.config.and_then(|config| config.labels).unwrap_or_default();
    let has = |name: &str, value: &str| labels.get(name).is_some_and(|own| own == value);
    if has(HOME, &order.home) && has(UNIT, &order.unit) {
        return Ok(NameOwner::Own);
    }
    Ok(NameOwner::Other(found.id.unwrap_or_default().chars().take(12).collect()))
}

/// Removes a container. One that is gone is no error.
pub(crate) async fn remove(docker: &Docker, id: &str) -> Result<(), Error> {
    let options = RemoveContainerOptions { force: true, v: true, link: false };
    match docker.remove_container(id, Some(options)).await {
        Err(Error::DockerResponseServerError { status_code: 404 | 409, .. }) | Ok(()) => Ok(()),
        Err(error) => Err(error),
    }
}
