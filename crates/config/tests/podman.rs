//! If no podman service runs, a unit of Ostler's runs one, and the units that need it get its address.

use ostler_config::{Config, ReadContext, load};
use ostler_model::{Check, OsText, UnitSpec};
use std::path::Path;

fn read(text: &str, podman: Option<&str>) -> Config {
    let pair = |name: &str, value: &str| (name.to_owned(), OsText::from(value));
    let around = ReadContext {
        environment: vec![pair("CONTAINER_HOST", "unix:///old.sock"), pair("PATH", "/bin")],
        podman: podman.map(Into::into),
        podman_socket: Some("/home/u/.local/state/ostler/podman.sock".into()),
        ..ReadContext::default()
    };
    load(Path::new("/srv/ostler.toml"), text, &around).expect("valid")
}

fn unit<'a>(config: &'a Config, name: &str) -> &'a UnitSpec {
    config.units.iter().find(|unit| unit.name == name).expect("exists")
}

fn variables(unit: &UnitSpec) -> Vec<String> {
    unit.inherited.iter().map(OsText::shown).collect()
}

const ONE: &str = r#"
    [units.c]
    backend = "container"
    image = "i"
    [units.plain]
    command = ["x"]
"#;

#[test]
fn the_service_is_a_unit_that_containers_depend_on() {
    let config = read(ONE, Some("/usr/bin/podman"));
    let service = unit(&config, "podman");
    assert_eq!(
        service.argv[1..],
        ["shim", "podman", "--serve", "/home/u/.local/state/ostler/podman.sock"]
    );
    assert_eq!(service.ready.as_ref().map(|ready| &ready.check), Some(&Check::Notify));
    // With CONTAINER_HOST it would contact another podman instead of serving.
    assert_eq!(variables(service), ["PATH=/bin"]);
    let container = unit(&config, "c");
    assert_eq!(container.depends_on, ["podman"]);
    let own = "CONTAINER_HOST=unix:///home/u/.local/state/ostler/podman.sock";
    assert_eq!(variables(container), ["PATH=/bin", own, "CONTAINER_RUNTIME=podman"]);
    assert!(unit(&config, "plain").depends_on.is_empty());
}

#[test]
fn units_without_containers_get_no_podman_service() {
    assert_eq!(read(ONE, None).units.len(), 2);
    let plain = "[units.agents]\ncommand = [\"x\"]";
    assert_eq!(read(plain, Some("/usr/bin/podman")).units.len(), 1);
}

#[test]
fn a_unit_named_podman_replaces_the_podman_service() {
    let text = format!("{ONE}\n[units.podman]\ncommand = [\"podman\", \"system\", \"service\"]");
    let config = read(&text, Some("/usr/bin/podman"));
    assert_eq!(config.units.len(), 3);
    assert!(unit(&config, "c").depends_on.is_empty());
}

/// The list may contain an agent later.
#[test]
fn a_list_of_agents_gets_the_podman_service() {
    let config = read("[agents]", Some("/usr/bin/podman"));
    assert!(config.units.iter().any(|unit| unit.name == "podman"));
    let own = "CONTAINER_HOST=unix:///home/u/.local/state/ostler/podman.sock".to_owned();
    assert!(variables(unit(&config, "agents")).contains(&own));
}
