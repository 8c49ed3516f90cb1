//! Podman's own service, where nobody else serves it: a run of ours, below which nothing of a container may live.
//!
//! What podman leaves beside each container (conmon) is born of the service. It would be in the service's boundary, keep
//! the run from ending, and be ended with it, and every container with it. So podman is given a conmon that first leaves
//! the run: like the container it belongs to the engine, and goes when the container goes. Whoever looks for a run's
//! orphans knows by what it carries that it is of none.

use ostler_model::RunSpec;
use ostler_sys::{Durability, write_atomic};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The same again would fail again.
const CONFIG: i32 = 78;
const NOT_BEGUN: i32 = 126;
const PODMAN: &str = "podman";
const SCRIPT: &str = "conmon";

/// Podman, if it is here, may be used, and nobody serves it; `own` is where we would.
pub fn unserved_podman(get: impl Fn(&str) -> Option<String>, own: &Path) -> Option<PathBuf> {
    let podman = || ostler_os::find_tool(PODMAN).and_then(|found| std::path::absolute(found).ok());
    is_unserved(get, own).then(podman).flatten()
}

/// Whether podman would be ours to serve, by what the environment says.
fn is_unserved(get: impl Fn(&str) -> Option<String>, own: &Path) -> bool {
    let set = |name: &str| get(name).filter(|value| !value.is_empty());
    let own = format!("unix://{}", own.display());
    // Decided before, and not to be changed by what appeared since.
    if set("CONTAINER_HOST").as_deref() == Some(&*own) {
        return true;
    }
    let is_named = set("CONTAINER_RUNTIME").as_deref() == Some("docker")
        || set("CONTAINER_HOST").is_some()
        || (set("CONTAINER_RUNTIME").is_none() && set("DOCKER_HOST").is_some());
    let is_there =
        |place: &String| place.strip_prefix("unix://").is_none_or(|path| Path::new(path).exists());
    !is_named && !crate::engine::places(get).iter().any(is_there)
}

/// Becomes the service. Returns only if it cannot.
pub fn serve(socket: &Path) -> i32 {
    let error = match prepared(socket) {
        Ok((podman, script)) => {
            let script = script.display().to_string();
            let address = format!("unix://{}", socket.display());
            let words = ["--conmon", &script, "system", "service", "--time=0", &address];
            ostler_os::become_program(&podman, &words, &[])
        }
        Err(error) => error,
    };
    notify(&format!("podman cannot be served: {error}"));
    CONFIG
}

/// Podman, and the conmon it is to take.
fn prepared(socket: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let podman =
        ostler_os::find_tool(PODMAN).ok_or_else(|| io::Error::other("it is not on the PATH"))?;
    let asked = ["info", "--format", "{{.Host.Conmon.Path}}"];
    let description = ostler_os::run_tool(&podman.display().to_string(), &asked, b"")?;
    let conmon = String::from_utf8_lossy(&description.output).trim().to_owned();
    if description.code != Some(0) || conmon.is_empty() {
        return Err(io::Error::other(format!("`podman info`: {}", description.complaint)));
    }
    let folder = socket.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)?;
    let script = folder.join(SCRIPT);
    let own = ostler_os::own_executable()?;
    let text = format!(
        "#!/bin/sh\n# Written by ostler each time it serves podman: what is beside a container is of no run.\n\
         exec {} shim podman --conmon {} -- \"$@\"\n",
        quoted(&own.display().to_string()),
        quoted(&conmon),
    );
    // A service that still runs may start the old one at this moment.
    write_atomic(&script, text.as_bytes(), 0o700, Durability::Cached)?;
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok((podman, script)),
    }
}

/// Our own service may have gone with the last unit that needed it before what was left is swept up: then podman is
/// served once more, beside us in the sweep's run, at a place of its own.
pub(crate) fn for_a_sweep(places: &[String]) -> Option<String> {
    let own = places.iter().find(|place| {
        let path = place.strip_prefix("unix://").map(Path::new);
        path.and_then(Path::parent).is_some_and(|folder| folder.join(SCRIPT).exists())
    })?;
    let place = format!("{own}-{}", std::process::id());
    let podman = ostler_os::find_tool(PODMAN)?;
    let words = ["system", "service", "--time=0", &place];
    ostler_os::start_tool(&podman, &words, "CONTAINER_HOST").ok()?;
    Some(place)
}

pub(crate) fn forget(place: &str) {
    let _ = std::fs::remove_file(place.strip_prefix("unix://").unwrap_or(place));
}

/// Leaves the run, and becomes podman's own conmon.
pub fn conmon(program: &Path, arguments: &[String]) -> i32 {
    if !ostler_os::leave_run() {
        notify("the kernel does not let it leave the service's run: it ends with it");
    }
    let error = ostler_os::become_program(
        program,
        arguments,
        &[(RunSpec::RUN_ID_VARIABLE, RunSpec::OF_ENGINE)],
    );
    notify(&format!("{}: {error}", program.display()));
    NOT_BEGUN
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn notify(text: &str) {
    let _ = writeln!(io::stderr(), "ostler: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unserved(pairs: &[(&str, &str)]) -> bool {
        let get = |name: &str| {
            pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        is_unserved(get, Path::new("/nowhere/podman.sock"))
    }

    #[test]
    fn whoever_names_an_engine_has_that_one() {
        assert!(!unserved(&[("CONTAINER_RUNTIME", "docker")]));
        assert!(!unserved(&[
            ("CONTAINER_RUNTIME", "podman"),
            ("CONTAINER_HOST", "unix:///x.sock")
        ]));
        assert!(!unserved(&[("DOCKER_HOST", "tcp://127.0.0.1:1")]));
        assert!(unserved(&[("CONTAINER_HOST", "unix:///nowhere/podman.sock")]));
    }

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        assert_eq!(quoted("/a b/it's"), r"'/a b/it'\''s'");
    }
}
