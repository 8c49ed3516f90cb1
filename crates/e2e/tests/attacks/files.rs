//! Foreign files, pipes and devices in the place of files: refused at once, with the name.

use crate::both;
use ostler_e2e::{Home, Output};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// No process writes into the pipe: opening it would wait forever.
const AT_ONCE: Duration = Duration::from_secs(20);

/// A pipe, a device without end, and a file of 100 GB without a byte on the disk.
fn traps(folder: &Path) -> Vec<(&'static str, PathBuf)> {
    std::fs::create_dir_all(folder).expect("a folder");
    let (pipe, device, huge) = (folder.join("pipe"), folder.join("device"), folder.join("huge"));
    let made = Command::new("mkfifo").args(["-m", "666"]).arg(&pipe).status();
    assert!(made.expect("mkfifo").success());
    std::os::unix::fs::symlink("/dev/zero", &device).expect("a link");
    let file = std::fs::File::create(&huge).expect("a file");
    file.set_len(100_000_000_000).expect("a length");
    vec![("a pipe", pipe), ("a device", device), ("it is larger than", huge)]
}

fn put(trap: &Path, place: &Path) {
    let _ = std::fs::remove_file(place);
    std::fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
    std::fs::hard_link(trap, place)
        .or_else(|_| std::os::unix::fs::symlink(trap, place))
        .expect("in its place");
}

#[track_caller]
fn refused(home: &Home, folder: &Path, arguments: &[&str], why: &str) -> Output {
    let mut command = home.command(arguments);
    command.current_dir(folder);
    let output = home.spawn_program(command).finish_within(AT_ONCE);
    assert_ne!(output.code, 0, "{output:?}");
    assert!(output.stderr.contains(why), "{why}: {output:?}");
    output
}

/// W18: a pipe, a device or a huge file as ostler.toml is an error at once, found or named.
#[test]
fn an_ostler_toml_that_is_no_file_is_an_error_at_once() {
    for home in both() {
        let folder = home.folder().join("p");
        let (toml, below) = (folder.join("ostler.toml"), folder.join("below"));
        std::fs::create_dir_all(&below).expect("folders");
        let mut traps = traps(&home.folder().join("traps"));
        if home.user().is_none() && std::fs::File::open("/proc/kmsg").is_ok() {
            // The kernel calls it a regular file, and a reader waits for the next message.
            traps.push(("has no end", PathBuf::from("/proc/kmsg")));
        }
        for (why, trap) in traps {
            put(&trap, &toml);
            let named = toml.to_str().expect("text");
            for verb in [&["up"][..], &["check"], &["reload"], &["up", "-f", named]] {
                let output = refused(&home, &below, verb, why);
                assert!(output.stderr.contains("ostler.toml"), "{output:?}");
            }
        }
    }
}

/// W18: the same for what an ostler.toml names: variables, a manifest, a list of agents.
#[test]
fn what_an_ostler_toml_names_is_a_file() {
    for home in both() {
        let folder = home.folder().join("p");
        std::fs::create_dir_all(&folder).expect("a folder");
        let files = [
            ("[units.x]\ncommand = \"true\"\nenv_file = \"named\"\n", "named"),
            ("[units.x]\nmanifest = \"named.json\"\n", "named.json"),
            ("[agents]\n", ".ploinky/agents.json"),
        ];
        for (why, trap) in traps(&home.folder().join("traps")) {
            for (text, place) in files {
                std::fs::write(folder.join("ostler.toml"), text).expect("written");
                put(&trap, &folder.join(place));
                let output = refused(&home, &folder, &["up"], why);
                assert!(output.stderr.contains(place), "{output:?}");
                std::fs::remove_file(folder.join(place)).expect("removed");
            }
        }
    }
}

/// W18: an agent's profile that is no file is left out and named, without waiting for it.
#[test]
fn a_profile_that_is_no_file_is_named() {
    for mut home in both() {
        let config = home.folder().join("config");
        home.set("XDG_CONFIG_HOME", config.to_str().expect("text"));
        for (_, trap) in traps(&home.folder().join("traps")) {
            put(&trap, &config.join("ostler/agents/bad.toml"));
            let output = home.spawn(&["agents"]).finish_within(AT_ONCE);
            let description = format!("{}{}", output.text(), output.stderr);
            assert!(description.contains("bad.toml"), "{output:?}");
        }
        home.spawn(&["run", "--", "true"]).finish_within(AT_ONCE).ok();
        home.stop();
    }
}

/// A pipe in the place of a file of the home is an error at once, and not waited for.
#[test]
fn a_pipe_in_the_place_of_a_file_of_the_home_is_an_error() {
    for home in both() {
        std::fs::create_dir_all(home.path()).expect("a home");
        if let Some(user) = home.user() {
            std::os::unix::fs::chown(home.path(), Some(user), Some(user)).expect("given");
        }
        std::fs::set_permissions(home.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .expect("mode");
        for name in ["instance", "secret", "ostler.log", "lock"] {
            let path = home.path().join(name);
            let _ = std::fs::remove_file(&path);
            let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
            assert!(made.success());
            let output = home.ostler(&["start"]);
            assert_ne!(output.code, 0, "{name}: {output:?}");
            assert!(output.stderr.contains(name), "{name}: {output:?}");
            std::fs::remove_file(&path).expect("removed");
        }
        home.ostler(&["start"]).ok();
        home.stop();
    }
}
