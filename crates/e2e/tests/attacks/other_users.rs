//! Attacks by another user: refused before anything is sent to that user.

use crate::both;
use crate::sockets::up;
use ostler_e2e::{Home, Output, STRANGER, eventually, helper, is_installed, is_root, skipped};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

/// A user who is neither root nor the ordinary user of the tests.
const THIRD: u32 = 4_242;

pub fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("mode");
}

/// A program where an ordinary user may execute it.
pub fn install(home: &Home, program: &str) -> String {
    let name = Path::new(program).file_name().expect("a name");
    let place = home.folder().join(name);
    if !place.exists() {
        std::fs::copy(program, &place).expect("a copy");
        set_mode(&place, 0o755);
    }
    place.display().to_string()
}

/// The precondition of the other tests: one home is root's if the tests run as root, the other is not.
#[test]
fn an_ordinary_user_has_a_home_of_its_own() {
    for home in both() {
        let said = home.run(&[], &["id", "-u"]);
        assert_eq!(said["exitCode"], 0, "{said}");
        home.stop();
    }
}

fn call_as(home: &Home, user: u32, arguments: &[&str]) -> Output {
    let binary = home.folder().join("ostler-for-all");
    if !binary.exists() {
        // A copy may be busy: another thread may fork while it is written.
        let linked = std::fs::hard_link(Home::binary(), &binary);
        linked.or_else(|_| std::fs::copy(Home::binary(), &binary).map(drop)).expect("a copy");
        set_mode(&binary, 0o755);
    }
    set_mode(home.folder(), 0o755);
    let mut command = home.program(&binary);
    command.args(arguments).uid(user).gid(user).current_dir("/");
    home.spawn_program(command).finish()
}

/// D15: a socket that another user listens on gets not one byte: the request would hold our environment.
#[test]
fn nothing_is_sent_to_a_socket_of_another_user() {
    if !is_root() {
        return skipped("needs root");
    }
    let home = Home::of_ordinary_user();
    std::fs::create_dir(home.path()).expect("a folder");
    let socket = home.file("ostler.sock");
    let trap = UnixListener::bind(&socket).expect("a trap");
    set_mode(&socket, 0o777);
    set_mode(home.path(), 0o700);
    chown(home.path(), Some(STRANGER), Some(STRANGER)).expect("the owner is changed");
    let received = std::thread::spawn(move || {
        let mut all = Vec::new();
        for _ in 0..4 {
            let (mut stream, _) = trap.accept().expect("a caller");
            stream.read_to_end(&mut all).expect("read");
        }
        all
    });
    for arguments in [&["run", "--", "true"][..], &["ls"], &["--no-start", "runs"], &["up"]] {
        std::fs::write(home.folder().join("ostler.toml"), "[units.x]\ncommand = \"true\"\n")
            .expect("written");
        let output = home.ostler(arguments);
        assert_ne!(output.code, 0, "{output:?}");
        assert!(output.stderr.contains("belongs to uid 0"), "{output:?}");
        assert!(output.stderr.contains("ostler.sock"), "the error names the socket: {output:?}");
    }
    assert!(received.join().expect("heard").is_empty(), "not one byte");
    assert!(home.processes().is_empty(), "no daemon was started");
}

/// D15: a home that others can write to is refused by client and daemon, with the right mode; a sticky one is accepted.
#[test]
fn a_home_that_others_can_write_is_refused() {
    for home in both() {
        home.ostler(&["start"]).ok();
        home.stop();
        for mode in [0o777, 0o770, 0o720] {
            set_mode(home.path(), mode);
            for arguments in [&["run", "--", "true"][..], &["ls"], &["start"], &["up", "-f", "/x"]]
            {
                let output = home.ostler(arguments);
                assert_ne!(output.code, 0, "{output:?}");
                if arguments[0] != "up" {
                    let description = &output.stderr;
                    assert!(
                        description.contains(home.path().to_str().expect("text")),
                        "{output:?}"
                    );
                    assert!(description.contains("chmod 700"), "{output:?}");
                }
            }
            // By the daemon as well.
            let output = home.ostler(&["supervisor"]);
            assert_ne!(output.code, 0, "{output:?}");
            assert!(output.stderr.contains("chmod 700"), "{output:?}");
        }
        assert!(home.processes().is_empty());
        set_mode(home.path(), 0o1777);
        home.ostler(&["run", "--", "true"]).ok();
        set_mode(home.path(), 0o700);
        home.stop();
    }
}

/// D15: the folder of the socket is checked like the home.
#[test]
fn a_runtime_folder_that_others_can_write_is_refused() {
    for home in both() {
        let (state, runtime) = (home.folder().join("s"), home.folder().join("r"));
        let call = |arguments: &[&str]| {
            let mut command = home.command(arguments);
            command.env_remove("OSTLER_HOME").env("XDG_STATE_HOME", &state);
            home.spawn_program({
                command.env("XDG_RUNTIME_DIR", &runtime);
                command
            })
            .finish()
        };
        call(&["start"]).ok();
        call(&["stop"]).ok();
        set_mode(&runtime.join("ostler"), 0o777);
        for arguments in [&["run", "--", "true"][..], &["ls"]] {
            let output = call(arguments);
            assert_ne!(output.code, 0, "{output:?}");
            assert!(output.stderr.contains("r/ostler is writable"), "{output:?}");
        }
        assert!(home.processes().is_empty());
    }
}

/// D15: root's commands do not talk to a user's daemon by accident; the error says how to.
#[test]
fn root_does_not_talk_to_a_users_daemon() {
    if !is_root() {
        return skipped("needs root");
    }
    let home = Home::of_ordinary_user();
    home.start(&[], &["sleep", "1000"]);
    for arguments in [&["ls"][..], &["run", "--", "true"], &["stop"], &["restart"]] {
        let output = call_as(&home, 0, arguments);
        assert_ne!(output.code, 0, "{output:?}");
        assert!(output.stderr.contains("you are root"), "{output:?}");
        assert!(output.stderr.contains("sudo -u '#65534'"), "the error has the remedy: {output:?}");
    }
    let status = call_as(&home, 0, &["status", "--json"]).ok().json();
    assert_eq!((&status["running"], &status["answering"]), (&Value::Bool(true), &Value::Null));
    home.stop();
}

/// D16: for a home that cannot be entered the state is unknown, and not "stopped".
#[test]
fn a_home_that_may_not_be_entered_is_not_called_stopped() {
    if !is_root() {
        return skipped("needs root");
    }
    let home = Home::new();
    home.start(&[], &["sleep", "1000"]);
    for mode in [0o700, 0o755] {
        set_mode(home.path(), mode);
        for arguments in [&["status"][..], &["status", "--json"], &["stop"]] {
            let output = call_as(&home, STRANGER, arguments);
            assert!(![0, 3].contains(&output.code), "{output:?}");
            assert!(output.stderr.to_lowercase().contains("permission denied"), "{output:?}");
            assert!(!output.text().contains("stopped"), "{output:?}");
        }
    }
    home.stop();
}

fn up_in(home: &Home, folder: &Path, arguments: &[&str]) -> Output {
    let mut command = home.command(arguments);
    command.current_dir(folder);
    home.spawn_program(command).finish()
}

/// W16: a file of another user is applied only if the caller names it and its owner.
#[test]
fn up_does_not_run_another_users_file() {
    if !is_root() {
        return skipped("needs root");
    }
    for home in both() {
        let folder = home.folder().join("theirs");
        let below = folder.join("a/b");
        std::fs::create_dir_all(&below).expect("folders");
        let file = folder.join("ostler.toml");
        std::fs::write(&file, "[units.x]\ncommand = [\"sleep\", \"1000\"]\n").expect("written");
        let named = file.to_str().expect("text");
        // The file is another's; then a folder on the way to it is.
        for (path, owner) in [(&file, THIRD), (&folder.join("a"), THIRD), (&folder, THIRD)] {
            for each in [&file, &folder, &folder.join("a")] {
                chown(each, Some(0), Some(0)).expect("root's");
            }
            chown(path, Some(owner), Some(owner)).expect("the owner is changed");
            for verb in [&["up"][..], &["check"], &["reload"], &["reload", "--dry-run"]] {
                let output = up_in(&home, &below, verb);
                assert_ne!(output.code, 0, "{output:?}");
                let description = format!("{} belongs to 4242", path.display());
                assert!(
                    output.stderr.contains(&description),
                    "the error names the file: {output:?}"
                );
                assert!(
                    output.stderr.contains("--owner 4242"),
                    "the error has the remedy: {output:?}"
                );
            }
        }
        chown(&file, Some(THIRD), Some(THIRD)).expect("the owner is changed");
        let by_name = up_in(&home, &below, &["up", "-f", named]);
        assert_ne!(by_name.code, 0, "a path alone is no permission: {by_name:?}");
        let wrong = up_in(&home, &below, &["up", "-f", named, "--owner", "65534"]);
        assert_ne!(wrong.code, 0, "{wrong:?}");
        assert!(home.processes().is_empty(), "nothing was run");
        let agreed = up_in(&home, &below, &["up", "-f", named, "--owner", "4242"]).ok();
        assert!(agreed.text().contains(&format!("using {named}\n")), "{agreed:?}");
        up_in(&home, &below, &["down", "-f", named, "--owner", "4242"]).ok();
        home.stop();
    }
}

/// W16: a list of agents of another user beside the file is not read.
#[test]
fn a_list_of_agents_that_is_another_users_is_not_read() {
    if !is_root() {
        return skipped("needs root");
    }
    for home in both() {
        let folder = home.folder().join("p");
        std::fs::create_dir_all(folder.join(".ploinky")).expect("folders");
        let list = folder.join(".ploinky/agents.json");
        std::fs::write(&list, "{}").expect("written");
        std::fs::write(folder.join("ostler.toml"), "[agents]\n").expect("written");
        up_in(&home, &folder, &["check"]).ok();
        chown(&list, Some(THIRD), Some(THIRD)).expect("the owner is changed");
        let output = up_in(&home, &folder, &["check"]);
        assert_ne!(output.code, 0, "{output:?}");
        assert!(output.stderr.contains("belongs to uid 4242"), "{output:?}");
        assert!(output.stderr.contains("agents.json"), "{output:?}");
    }
}

/// W16: files that every user can write are not applied: the file, a folder of its path, and the files that it names.
#[test]
fn files_that_every_user_can_write_are_not_applied() {
    for home in both() {
        let folder = home.folder().join("p");
        std::fs::create_dir_all(folder.join("app")).expect("folders");
        set_mode(&folder, 0o755);
        let (file, env, manifest) = (
            folder.join("ostler.toml"),
            folder.join("secrets.env"),
            folder.join("app/openclawos.manifest.json"),
        );
        let text = "[units.x]\ncommand = [\"sleep\", \"1000\"]\nenv_file = \"secrets.env\"\n[units.y]\nmanifest = \"app\"\n";
        std::fs::write(&file, text).expect("written");
        std::fs::write(&env, "A=1\n").expect("written");
        let app = r#"{"id":"y","name":"y","version":"1.0.0","type":"app","protocol":{"version":"1.0"},"main":"y.js"}"#;
        std::fs::write(&manifest, app).expect("written");
        std::fs::write(folder.join("app/y.js"), "").expect("written");
        for path in [&file, &env, &manifest] {
            set_mode(path, 0o644);
        }
        up_in(&home, &folder, &["check"]).ok();
        for (path, open, right) in [
            (&file, 0o646, 0o644),
            (&folder, 0o777, 0o755),
            (&env, 0o666, 0o644),
            (&manifest, 0o606, 0o644),
        ] {
            set_mode(path, open);
            for verb in [&["check"][..], &["up"]] {
                let output = up_in(&home, &folder, verb);
                assert_ne!(output.code, 0, "{path:?} {output:?}");
                assert!(output.stderr.contains("very user can write"), "{output:?}");
                let cure = format!("chmod o-w {}", path.display());
                assert!(output.stderr.contains(&cure), "{output:?}");
            }
            set_mode(path, right);
        }
        // In a sticky folder, such as /tmp, other users cannot replace our files.
        set_mode(&folder, 0o1777);
        up_in(&home, &folder, &["check"]).ok();
        assert!(home.processes().is_empty(), "nothing was run");
    }
}

/// W16: an env file of another user is not read.
#[test]
fn an_env_file_of_another_user_is_not_read() {
    if !is_root() {
        return skipped("needs root");
    }
    for home in both() {
        let folder = home.folder().join("p");
        std::fs::create_dir(&folder).expect("a folder");
        let env = folder.join("a.env");
        std::fs::write(&env, "LD_PRELOAD=/x\n").expect("written");
        let text = "[units.x]\ncommand = [\"sleep\", \"1000\"]\nenv_file = \"a.env\"\n";
        std::fs::write(folder.join("ostler.toml"), text).expect("written");
        up_in(&home, &folder, &["check"]).ok();
        chown(&env, Some(THIRD), Some(THIRD)).expect("the owner is changed");
        let output = up_in(&home, &folder, &["check"]);
        assert_ne!(output.code, 0, "{output:?}");
        assert!(output.stderr.contains("a.env"), "{output:?}");
        assert!(output.stderr.contains("belongs to uid 4242"), "{output:?}");
    }
}

/// D15: a registry that another user owns or can write is not opened: its records say which processes are signalled.
#[test]
fn a_registry_that_others_can_write_is_refused() {
    for mut home in both() {
        let folder = home.folder().join("shared");
        std::fs::create_dir(&folder).expect("a folder");
        let registry = folder.join("r.db");
        if let Some(user) = home.user() {
            chown(&folder, Some(user), Some(user)).expect("the owner is changed");
        }
        set_mode(&folder, 0o700);
        home.set("OSTLER_REGISTRY", registry.to_str().expect("text"));
        home.ostler(&["run", "--", "true"]).ok();
        home.stop();
        let refused = |description: &str| {
            let output = home.ostler(&["run", "--", "true"]);
            assert_ne!(output.code, 0, "{output:?}");
            assert!(output.stderr.contains(description), "{description}: {output:?}");
            assert!(output.stderr.contains("OSTLER_REGISTRY"), "{output:?}");
        };
        set_mode(&folder, 0o777);
        refused("is writable by other users (mode 0777)");
        set_mode(&folder, 0o700);
        set_mode(&registry, 0o666);
        refused("is writable by other users (mode 0666)");
        set_mode(&registry, 0o600);
        if is_root() {
            chown(&registry, Some(THIRD), Some(THIRD)).expect("the owner is changed");
            refused("belongs to uid 4242");
            chown(&registry, home.user().or(Some(0)), None).expect("the owner is restored");
        }
        home.ostler(&["run", "--", "true"]).ok();
        home.stop();
    }
}

/// W17: only a process of its own run can report a unit as ready.
#[test]
fn another_run_cannot_say_that_a_unit_is_ready() {
    for home in both() {
        let serve = install(&home, helper!("serve"));
        let unit = |name: &str, text: &str| {
            format!(
                "[units.{name}]\ncommand = [\"{serve}\", \"say\", \"{text}\"]\n\
                 ready = {{ notify = true, timeout = \"60s\" }}\n"
            )
        };
        let up = up(&home, &unit("web", "READY=1"));
        let socket = home.file("notify/web.sock");
        eventually("the unit runs", || socket.exists().then_some(()));
        // From another run, from a process that has ended, and from outside.
        let other = home.folder().join("other");
        std::fs::create_dir(&other).expect("a folder");
        std::fs::write(other.join("go"), "").expect("written");
        set_mode(&other, 0o777);
        let place = format!("NOTIFY_SOCKET={}", socket.display());
        let script = format!("cd {} && exec env {place} {serve} say READY=1", other.display());
        let forger = home.start(&[], &["sh", "-c", &script]);
        eventually("the forged message was sent", || other.join("said").exists().then_some(()));
        let output = || {
            let events = home.ostler(&["events", "--json"]).ok().text();
            events.contains("wrote to the notify socket").then_some(())
        };
        eventually("it is journaled", output);
        let state = home.ostler(&["status", "web", "--json"]).text();
        assert!(!state.contains("\"state\":\"ready\""), "{state}");
        std::fs::write(home.folder().join("go"), "").expect("written");
        let said = up.finish().ok().text();
        assert!(said.contains("web: ready"), "its own report counts: {said}");
        home.cancel(&forger);
        home.stop();
    }
}

/// W17: a tool that only notifies waits until its message was received (`BARRIER=1`), and belongs to the run that called it.
#[test]
fn the_message_of_a_child_that_ends_is_received() {
    if !is_installed("systemd-notify") {
        return skipped("needs systemd-notify");
    }
    for home in both() {
        let text = "[units.web]\ncommand = [\"sh\", \"-c\", \"systemd-notify --ready; exec sleep 1000\"]\n\
                    ready = { notify = true, timeout = \"60s\" }\n";
        let said = up(&home, text).finish().ok().text();
        assert!(said.contains("web: ready"), "{said}");
        home.stop();
    }
}

/// D15: the folder in /tmp for a home with a long path can be guessed: an existing one is used only if it is private.
#[test]
fn a_guessed_folder_in_tmp_gets_no_socket() {
    for home in both() {
        let mut home = home.at(&"long".repeat(30));
        let temporary = home.folder().join("tmp");
        std::fs::create_dir(&temporary).expect("a folder");
        set_mode(&temporary, 0o1777);
        home.set("TMPDIR", temporary.to_str().expect("text"));
        // Its name is the same each time: an earlier start of the daemon shows it.
        home.ostler(&["start"]).ok();
        home.stop();
        let made = std::fs::read_dir(&temporary).expect("a folder").flatten();
        let guessed = made.map(|entry| entry.path()).next().expect("a folder for its sockets");
        std::fs::remove_dir_all(&guessed).expect("removed");
        std::fs::create_dir(&guessed).expect("a folder");
        set_mode(&guessed, 0o777);
        if is_root() {
            chown(&guessed, Some(THIRD), Some(THIRD)).expect("the owner is changed");
        }
        let serve = install(&home, helper!("serve"));
        std::fs::write(home.folder().join("go"), "").expect("written");
        let mut units = format!(
            "[units.web]\ncommand = [\"{serve}\", \"say\", \"READY=1\"]\nready = {{ notify = true }}\nrestart = {{ when = \"never\" }}\n"
        );
        let mut names = vec!["web"];
        if is_installed("tmux") {
            units += "[units.pane]\ncommand = [\"sleep\", \"1000\"]\nbackend = \"tmux\"\nrestart = { when = \"never\" }\n";
            names.push("ostler:tmux");
        }
        let output = up(&home, &units).finish();
        assert_ne!(output.code, 0, "{output:?}");
        for name in names {
            let why = home.ostler(&["why", name]).text();
            assert!(why.contains("is not your private directory"), "{name}: {why}");
        }
        let found = std::fs::read_dir(&guessed).expect("a folder").count();
        assert_eq!(found, 0, "nothing is in it");
        std::fs::remove_dir(&guessed).expect("removed");
        home.ostler(&["start", "web"]).ok();
        home.stop();
    }
}

fn asked(address: &str, path: &str, more: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{more}\r\n")
        .ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}

/// X5: connections without a valid token have half of the slots and 5 s; they keep no other client out.
#[test]
fn clients_without_a_token_do_not_use_up_http_connections() {
    let home = Home::with(&[("OSTLER_HTTP", "127.0.0.1:0")]);
    home.ostler(&["start"]).ok();
    let address = eventually("an address", || {
        let status = home.ostler(&["status", "--json"]).json();
        Some(status["http"].as_str()?.to_owned())
    });
    let token = home.ostler(&["token"]).ok().text().trim().to_owned();
    let silent: Vec<TcpStream> =
        (0..200).map(|_| TcpStream::connect(&address).expect("the daemon listens")).collect();
    for _ in 0..20 {
        let answer = asked(&address, "/healthz", "").expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let bearer = format!("Authorization: Bearer {token}\r\n");
        let answer = asked(&address, "/api/apps", &bearer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    drop(silent);
    // A client that repeatedly requests only what needs no token counts as one without a token.
    let mut busy = TcpStream::connect(&address).expect("the daemon listens");
    busy.set_read_timeout(Some(Duration::from_secs(10))).expect("a socket");
    let mut text = [0; 4096];
    eventually("the client is disconnected", || {
        let sent = write!(busy, "GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n");
        let is_over = sent.is_err() || matches!(busy.read(&mut text), Ok(0) | Err(_));
        // The interval of its requests.
        std::thread::sleep(Duration::from_millis(100));
        is_over.then_some(())
    });
    home.stop();
}

/// W16: a user who can write the folder of a named file can replace the file, also behind a link.
#[test]
fn an_env_file_in_a_folder_of_another_user_is_not_read() {
    if !is_root() {
        return skipped("needs root");
    }
    for home in both() {
        let folder = home.folder().join("p");
        let (theirs, open) = (folder.join("theirs"), folder.join("open"));
        for made in [&theirs, &open] {
            std::fs::create_dir_all(made).expect("folders");
            std::fs::write(made.join("a.env"), "A=1\n").expect("written");
        }
        std::os::unix::fs::symlink(open.join("a.env"), folder.join("linked.env")).expect("a link");
        chown(&theirs, Some(THIRD), Some(THIRD)).expect("the owner is changed");
        set_mode(&open, 0o777);
        for (file, why) in [
            ("theirs/a.env", "belongs to uid 4242"),
            ("open/a.env", "every user can write its folder"),
            ("linked.env", "every user can write its folder"),
        ] {
            let text =
                format!("[units.x]\ncommand = [\"sleep\", \"1000\"]\nenv_file = \"{file}\"\n");
            std::fs::write(folder.join("ostler.toml"), text).expect("written");
            let output = up_in(&home, &folder, &["check"]);
            assert_ne!(output.code, 0, "{file}: {output:?}");
            assert!(output.stderr.contains(why), "{file}: {output:?}");
        }
    }
}

/// D15: SQLite creates files beside the real registry: the folder behind a link is checked, and so are those files.
#[test]
fn the_real_place_of_a_registry_is_checked() {
    if !is_root() {
        return skipped("needs root");
    }
    for mut home in both() {
        let folder = home.folder().join("reg");
        let open = folder.join("open");
        std::fs::create_dir_all(&open).expect("folders");
        std::os::unix::fs::symlink("open/r.db", folder.join("r.db")).expect("a link");
        std::fs::write(open.join("r.db"), "").expect("written");
        for path in [folder.clone(), open.clone(), open.join("r.db")] {
            chown(&path, home.user(), home.user()).expect("given");
        }
        set_mode(&open, 0o777);
        home.set("OSTLER_REGISTRY", folder.join("r.db").to_str().expect("text"));
        let refused = |why: &str| {
            let output = home.ostler(&["start"]);
            assert_ne!(output.code, 0, "{output:?}");
            assert!(output.stderr.contains(why), "{output:?}");
        };
        refused("chmod 700");
        set_mode(&open, 0o700);
        std::fs::write(open.join("r.db-wal"), "x").expect("written");
        chown(open.join("r.db-wal"), Some(THIRD), Some(THIRD)).expect("the owner is changed");
        refused("r.db-wal");
    }
}

/// D15: in a sticky home other users may create files; Ostler uses none of them.
#[test]
fn a_file_of_another_user_in_a_sticky_home_is_refused() {
    if !is_root() {
        return skipped("needs root");
    }
    for home in both() {
        std::fs::create_dir(home.path()).expect("a home");
        chown(home.path(), home.user(), home.user()).expect("given");
        set_mode(home.path(), 0o1777);
        for name in ["instance", "secret", "ostler.log", "lock", "registry.db-wal"] {
            let path = home.path().join(name);
            let _ = std::fs::remove_file(&path);
            std::fs::write(&path, "x").expect("written");
            chown(&path, Some(THIRD), Some(THIRD)).expect("the owner is changed");
            let output = home.ostler(&["start"]);
            assert_ne!(output.code, 0, "{name}: {output:?}");
            let is_named = ["belongs to uid 4242", "ermission denied"];
            assert!(is_named.iter().any(|why| output.stderr.contains(why)), "{output:?}");
            std::fs::remove_file(&path).expect("removed");
        }
    }
}
