//! Units in tmux: their server, and the units that Ostler adds.

use ostler_config::{Config, ReadContext, load};
use ostler_model::{Backend, Check, OsText, Part, TmuxOwner, UnitSpec, When};
use std::path::Path;

fn read(text: &str, tmux: Option<&str>) -> Config {
    let around = ReadContext {
        environment: vec![("TMUX_TMPDIR".to_owned(), OsText::from("/run/t"))],
        tmux: tmux.map(Into::into),
        tmux_socket: Some("/home/u/.local/state/ostler/tmux.sock".into()),
        user: 7,
        ..ReadContext::default()
    };
    load(Path::new("/srv/ostler.toml"), text, &around).expect("valid")
}

fn unit<'a>(config: &'a Config, name: &str) -> &'a UnitSpec {
    config.units.iter().find(|unit| unit.name == name).expect("exists")
}

const TWO: &str = r#"
    [units.coder]
    command = ["claude"]
    resume = ["claude", "--continue"]
    backend = "tmux"
    [units."a.b"]
    command = ["x"]
    backend = "tmux"
    tmux = "default"
    ready = { delay = "1s" }
"#;

#[test]
fn the_private_server_is_a_unit_that_its_users_depend_on() {
    let config = read(TWO, Some("/usr/bin/tmux"));
    let coder = unit(&config, "coder");
    let tmux = coder.tmux.as_ref().expect("a tmux session");
    assert_eq!((coder.backend, tmux.server), (Backend::Tmux, TmuxOwner::Ours));
    assert_eq!(
        (tmux.session.as_str(), &coder.depends_on[..]),
        ("ostler-coder", &["ostler:tmux".to_owned()][..])
    );
    assert_eq!(coder.resume.as_deref(), Some(&["claude".to_owned(), "--continue".to_owned()][..]));
    assert!(tmux.is_ready_once_started);
    assert_eq!(coder.ready.as_ref().map(|ready| &ready.check), Some(&Check::Notify));
    let server = unit(&config, "ostler:tmux");
    assert_eq!(server.argv, ["/usr/bin/tmux", "-D", "-S", "/home/u/.local/state/ostler/tmux.sock"]);
    assert_eq!((server.part, &server.file), (Some(Part::Daemon), &None), "it is in no file");
    let other = unit(&config, "a.b");
    let tmux = other.tmux.as_ref().expect("a tmux session");
    assert_eq!((tmux.server, tmux.socket.as_str()), (TmuxOwner::Other, "/run/t/tmux-7/default"));
    assert_eq!((tmux.session.as_str(), other.depends_on.len()), ("ostler-a-b", 0));
    assert!(!tmux.is_ready_once_started);
}

/// Without tmux the same file uses a pty, with a warning.
#[test]
fn without_tmux_a_unit_has_a_terminal_of_ours() {
    let config = read(TWO, None);
    assert_eq!(config.units.len(), 2);
    for unit in &config.units {
        assert_eq!(unit.backend, Backend::Pty);
        assert!(unit.depends_on.is_empty());
        assert!(unit.tmux.as_ref().is_some_and(|tmux| tmux.program.is_none()));
    }
}

/// No unit of a file can have the name of the daemon's server, so a unit may be named `tmux`.
#[test]
fn a_unit_may_have_the_name_tmux() {
    let text = format!("{TWO}\n[units.tmux]\ncommand = [\"mine\"]\n");
    let config = read(&text, Some("/usr/bin/tmux"));
    assert_eq!(unit(&config, "tmux").argv, ["mine"]);
    assert_eq!(unit(&config, "tmux").part, None);
}

/// The daemon's server does not depend on the file that needs it, and does not have its hooks.
#[test]
fn the_private_server_is_the_same_for_every_file() {
    let around = ReadContext {
        tmux: Some("/usr/bin/tmux".into()),
        tmux_socket: Some("/home/u/tmux.sock".into()),
        ..ReadContext::default()
    };
    let text = format!("{TWO}\n[hooks]\non_crash = [\"mail\"]\n");
    let one = load(Path::new("/srv/ostler.toml"), &text, &around).expect("valid");
    let other = load(Path::new("/tmp/ostler.toml"), TWO, &around).expect("valid");
    assert_eq!(unit(&one, "ostler:tmux"), unit(&other, "ostler:tmux"));
}

/// A part of Ostler is never given up: it has no limit, and delays of at most 30 s.
#[test]
fn parts_of_ostler_have_no_breaker() {
    let text = format!("{TWO}\n[patrol]\nroot = \"/\"\n[patrol.watch.x]\ncommand = [\"x\"]\n");
    let config = read(&text, Some("/usr/bin/tmux"));
    for name in ["ostler:tmux", "patrol"] {
        let policy = unit(&config, name).restart;
        assert_eq!((policy.when, policy.limit), (When::Always, None), "{name}");
        assert!(policy.backoff.max_ms <= 30_000, "{name}");
    }
}
