//! Runs podman's API service if no other process does. The service is a run of Ostler's; no process of a container may
//! be part of that run.
//!
//! The service starts a monitor (conmon) for each container. The monitor would be part of the service's run: it would
//! keep the run from ending, and it would be killed with it, and with it every container. So podman gets a conmon
//! wrapper that first leaves the run. The monitor then belongs to the engine, like the container, and ends with the
//! container. A mark in its environment shows a search for a run's orphans that it is part of none.

use ostler_model::RunSpec;
use ostler_sys::{Durability, write_atomic};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Exit code: a retry would fail again.
const CONFIG: i32 = 78;
const NOT_BEGUN: i32 = 126;
const PODMAN: &str = "podman";
const SCRIPT: &str = "conmon";

/// The podman executable, if podman is installed, may be used, and is not served. `own` is the address of our service.
pub fn unserved_podman(get: impl Fn(&str) -> Option<String>, own: &Path) -> Option<PathBuf> {
    let podman = || ostler_os::find_tool(PODMAN).and_then(|found| std::path::absolute(found).ok());
    is_unserved(get, own).then(podman).flatten()
}

/// Whether the environment lets Ostler serve podman.
fn is_unserved(get: impl Fn(&str) -> Option<String>, own: &Path) -> bool {
    let set = |name: &str| get(name).filter(|value| !value.is_empty());
    let own = format!("unix://{}", own.display());
    // The decision was made before and stays, whatever has appeared since.
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

/// Executes the service in this process. Returns only on failure.
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
    notify(&format!("cannot start podman's service: {error}"));
    CONFIG
}

/// The podman executable, and the conmon wrapper for it.
fn prepared(socket: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let podman = ostler_os::find_tool(PODMAN)
        .ok_or_else(|| io::Error::other("podman is not on the PATH"))?;
    let asked = ["info", "--format", "{{.Host.Conmon.Path}}"];
    let output = ostler_os::run_tool(&podman.display().to_string(), &asked, b"")?;
    let conmon = String::from_utf8_lossy(&output.output).trim().to_owned();
    if output.code != Some(0) || conmon.is_empty() {
        return Err(io::Error::other(format!("`podman info`: {}", output.error_output)));
    }
    let folder = socket.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)?;
    let script = folder.join(SCRIPT);
    let own = ostler_os::own_executable()?;
    let text = format!(
        "#!/bin/sh\n# Written by ostler each time it serves podman: the monitor of a container is part of no run.\n\
         exec {} shim podman --conmon {} -- \"$@\"\n",
        quoted(&own.display().to_string()),
        quoted(&conmon),
    );
    // A service that still runs may execute the old script at this moment.
    write_atomic(&script, text.as_bytes(), 0o700, Durability::Cached)?;
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok((podman, script)),
    }
}

/// Our service may have ended with the last unit that needed it. Then the sweep starts podman's service once more in
/// its own run, at its own address.
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

/// Leaves the run and executes podman's own conmon.
pub fn conmon(program: &Path, arguments: &[String]) -> i32 {
    if !ostler_os::leave_run() {
        notify("cannot leave the run of podman's service: the container will end with the service");
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
    fn a_named_engine_is_used() {
        assert!(!unserved(&[("CONTAINER_RUNTIME", "docker")]));
        assert!(!unserved(&[
            ("CONTAINER_RUNTIME", "podman"),
            ("CONTAINER_HOST", "unix:///x.sock")
        ]));
        assert!(!unserved(&[("DOCKER_HOST", "tcp://127.0.0.1:1")]));
        assert!(unserved(&[("CONTAINER_HOST", "unix:///nowhere/podman.sock")]));
    }

    #[test]
    fn a_path_is_quoted_as_one_word_of_a_shell() {
        assert_eq!(quoted("/a b/it's"), r"'/a b/it'\''s'");
    }
}
