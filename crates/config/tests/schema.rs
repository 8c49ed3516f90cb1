//! Tests the published schema and the example.

#![expect(clippy::disallowed_methods, reason = "the test starts python")]

use ostler_config::{ReadContext, load, schema};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_published_schema_is_current() {
    let path = root().join("docs/ostler.schema.json");
    if std::env::var_os("OSTLER_BLESS").is_some() {
        std::fs::write(&path, schema()).expect("writable");
    }
    let published = std::fs::read_to_string(&path).expect("exists");
    assert!(published == schema(), "run `ostler check --schema > docs/ostler.schema.json`");
}

#[test]
fn the_example_is_right() {
    let path = root().join("examples/ostler.toml");
    let text = std::fs::read_to_string(&path).expect("exists");
    let description = load(&path, &text, &ReadContext::default()).map_err(|problems| {
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    });
    let config = description.unwrap_or_else(|description| panic!("{description}"));
    assert!(config.units.len() >= 3);
}

const VALIDATE: &str = "
import json, sys
try:
    import jsonschema, tomllib
except ImportError:
    sys.exit(77)
schema = json.load(open(sys.argv[1]))
jsonschema.validators.validator_for(schema).check_schema(schema)
jsonschema.validate(tomllib.load(open(sys.argv[2], 'rb')), schema)
try:
    jsonschema.validate({'units': {'web': {'comand': ['x']}}}, schema)
except jsonschema.ValidationError:
    sys.exit(0)
sys.exit('a wrong key is accepted')
";

/// Uses the file in which the end-to-end tests count skipped tests.
#[expect(clippy::print_stderr, reason = "a skipped check is printed")]
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
    if let Some(path) = std::env::var_os("OSTLER_E2E_SKIPPED") {
        let file = std::fs::File::options().append(true).create(true).open(path);
        file.and_then(|mut file| writeln!(file, "skipped: {why}")).expect("writable");
    }
}

/// The exit code and the output; `None` if this python does not exist or has no jsonschema.
fn validated(python: &str, file: &str) -> Option<Output> {
    let mut command = Command::new(python);
    command
        .args(["-c", VALIDATE])
        .arg(root().join("docs/ostler.schema.json"))
        .arg(root().join(file));
    command.output().ok().filter(|output| output.status.code() != Some(77))
}

#[test]
fn the_example_fits_the_schema() {
    for file in ["examples/ostler.toml", "crates/config/tests/valid/02-everything.toml"] {
        // The system's python has the system's packages, even if another python is first in the path.
        let found =
            ["python3", "/usr/bin/python3"].iter().find_map(|python| validated(python, file));
        let Some(output) = found else {
            return skipped("the_example_fits_the_schema: python3 has no jsonschema");
        };
        assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
