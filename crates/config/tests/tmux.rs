//! Units in tmux: where their server is, and what is there beside them.

use ostler_config::{Circumstances, Config, load};
use ostler_model::{Backend, Check, OsText, TmuxOwner, UnitSpec};
use std::path::Path;

fn read(text: &str, tmux: Option<&str>) -> Config {
    let around = Circumstances {
        environment: vec![("TMUX_TMPDIR".to_owned(), OsText::from("/run/t"))],
        tmux: tmux.map(Into::into),
        tmux_socket: Some("/home/u/.local/state/ostler/tmux.sock".into()),
        user: 7,
        ..Circumstances::default()
    };
    load(Path::new("/srv/ostler.toml"), text, &around).expect("it is right")
}

fn unit<'a>(config: &'a Config, name: &str) -> &'a UnitSpec {
    config.units.iter().find(|unit| unit.name == name).expect("it is there")
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
    let tmux = coder.tmux.as_ref().expect("in tmux");
    assert_eq!((coder.backend, tmux.server), (Backend::Tmux, TmuxOwner::Ours));
    assert_eq!(
        (tmux.session.as_str(), &coder.depends_on[..]),
        ("ostler-coder", &["tmux".to_owned()][..])
    );
    assert_eq!(coder.resume.as_deref(), Some(&["claude".to_owned(), "--continue".to_owned()][..]));
    assert!(tmux.is_ready_when_seated);
    assert_eq!(coder.ready.as_ref().map(|ready| &ready.check), Some(&Check::Notify));
    let server = unit(&config, "tmux");
    assert_eq!(server.argv, ["/usr/bin/tmux", "-D", "-S", "/home/u/.local/state/ostler/tmux.sock"]);
    let other = unit(&config, "a.b");
    let tmux = other.tmux.as_ref().expect("in tmux");
    assert_eq!((tmux.server, tmux.socket.as_str()), (TmuxOwner::Other, "/run/t/tmux-7/default"));
    assert_eq!((tmux.session.as_str(), other.depends_on.len()), ("ostler-a-b", 0));
    assert!(!tmux.is_ready_when_seated);
}

/// Degraded: the same file, a terminal of ours, and a word about it.
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
