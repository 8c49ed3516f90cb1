//! Finds the container engine, and reconnects to it.

use bollard::{API_DEFAULT_VERSION, Docker};
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The timeout of one call.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
const TIMEOUT_S: u64 = 120;

/// The environment variables that select an engine.
pub(crate) const VARIABLES: [&str; 8] = [
    "CONTAINER_HOST",
    "CONTAINER_RUNTIME",
    "CONTAINERS_CONF",
    "CONTAINERS_STORAGE_CONF",
    "DOCKER_HOST",
    "HOME",
    "PATH",
    "XDG_RUNTIME_DIR",
];

/// The possible addresses of an engine, the most likely first.
pub(crate) fn places(get: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let set = |name: &str| get(name).filter(|value| !value.is_empty());
    let docker = || {
        let mut places: Vec<String> = set("DOCKER_HOST").into_iter().collect();
        places.push("unix:///var/run/docker.sock".to_owned());
        places
    };
    let podman = || {
        let mut places: Vec<String> = set("CONTAINER_HOST").into_iter().collect();
        if let Some(folder) = set("XDG_RUNTIME_DIR") {
            places.push(format!("unix://{folder}/podman/podman.sock"));
        }
        places.push("unix:///run/podman/podman.sock".to_owned());
        places
    };
    match set("CONTAINER_RUNTIME").as_deref() {
        Some("docker") => docker(),
        Some("podman") => {
            let mut places = podman();
            places.extend(set("DOCKER_HOST"));
            places
        }
        Some(_) | None => [docker(), podman()].concat(),
    }
}

fn open(place: &str) -> Option<Docker> {
    match place.strip_prefix("unix://") {
        Some(path) => {
            PathBuf::from(path).exists().then_some(())?;
            Docker::connect_with_unix(path, TIMEOUT_S, API_DEFAULT_VERSION).ok()
        }
        None => Docker::connect_with_http(place, TIMEOUT_S, API_DEFAULT_VERSION).ok(),
    }
}

/// Connects to the first engine that answers now.
pub(crate) async fn reach(places: &[String]) -> Option<Docker> {
    for place in places {
        let Some(docker) = open(place) else { continue };
        // No API version is negotiated: our calls name none, and the engine uses its own.
        if let Ok(Ok(_)) = timeout(PATIENCE, docker.ping()).await {
            return Some(docker);
        }
    }
    None
}

/// Waits until an engine answers. Calls `away` once, with the addresses tried.
pub(crate) async fn until_reached(places: &[String], away: impl FnOnce(String)) -> Docker {
    let mut away = Some(away);
    let mut pause = FIRST_PAUSE;
    loop {
        if let Some(docker) = reach(places).await {
            return docker;
        }
        if let Some(away) = away.take() {
            away(format!("no container engine answers at {}{}", places.join(", "), hint(places)));
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Podman has no daemon; users of docker may not know that.
fn hint(places: &[String]) -> &'static str {
    let is_podman = places.iter().all(|place| place.contains("podman"));
    if is_podman && !places.is_empty() {
        " (podman needs a running service: `ostler up` starts one if podman is on the PATH and neither \
         CONTAINER_HOST nor DOCKER_HOST is set, or: systemctl --user enable --now podman.socket)"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_that_is_named_is_the_only_one() {
        let with = |pairs: &'static [(&str, &str)]| {
            places(move |name| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(with(&[("CONTAINER_RUNTIME", "docker")]), ["unix:///var/run/docker.sock"]);
        let podman = with(&[("CONTAINER_RUNTIME", "podman"), ("XDG_RUNTIME_DIR", "/run/user/7")]);
        assert_eq!(
            podman,
            ["unix:///run/user/7/podman/podman.sock", "unix:///run/podman/podman.sock"]
        );
        let all = with(&[("DOCKER_HOST", "unix:///d.sock")]);
        assert_eq!(all[0], "unix:///d.sock");
        assert!(all.contains(&"unix:///run/podman/podman.sock".to_owned()));
    }
}
